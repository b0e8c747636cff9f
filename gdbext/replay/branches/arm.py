# SPDX-License-Identifier: GPL-2.0-or-later
"""A32: DDI 0406 (ARMv7-A and R), chapter A5."""

from __future__ import annotations

from gdbext.replay.kinds import (
    CALL_INDIRECT,
    FALL,
    FALL_MEMORY,
    FALL_WAIT,
    JUMP_INDIRECT,
    RETURN,
    TRAP_CALL,
    TRAP_RETURN,
    End,
    EndKind,
    predicated,
    signed,
)

SP = 13
ALWAYS = 14
MOV_LR_PC = 0xE1A0E00F


def end_of(address: int, code: bytes) -> End:
    """How a block at `address` ends."""
    word = int.from_bytes(code[-4:], "little")
    pc = address + len(code) - 4
    condition = word >> 28
    if condition == 15:
        return _unconditional(pc, word)
    end = _end_of_word(pc, word)
    # Before ARMv5 a call through a register was two instructions.
    if end.kind == EndKind.JUMP_INDIRECT and code[-8:-4] == MOV_LR_PC.to_bytes(4, "little"):
        end = CALL_INDIRECT
    return end if condition == ALWAYS else predicated(end)


def conditional_insns(code: bytes) -> set[int]:
    """Indexes of the instructions that have a condition."""
    return {index for index, top in enumerate(code[3::4]) if top < ALWAYS << 4}


def _unconditional(pc: int, word: int) -> End:
    if word & 0xFE000000 == 0xFA000000:
        offset = signed(word, 24) * 4 + (word >> 23 & 2)
        return End(EndKind.CALL, 0, pc + 8 + offset & 0xFFFFFFFF)
    if word & 0xFE50FFFF == 0xF8100A00:
        return TRAP_RETURN
    if word & 0xFE000000 == 0xF8000000 or word & 0xFF000000 == 0xF4000000:
        return FALL_MEMORY
    return FALL_MEMORY if word & 0xFE000000 == 0xFC000000 else FALL


def _end_of_word(pc: int, word: int) -> End:
    """As if executed always."""
    group = word >> 25 & 7
    if group == 5:
        kind = EndKind.CALL if word & 0x01000000 else EndKind.JUMP
        return End(kind, 0, pc + 8 + signed(word, 24) * 4 & 0xFFFFFFFF)
    if group <= 1:
        return _data_processing(pc, word)
    if group <= 3:
        return _load_store(word)
    if group == 4:
        if word & 0x00108000 != 0x00108000:
            return FALL_MEMORY
        return TRAP_RETURN if word & 0x00400000 else RETURN
    if group == 6:
        return FALL_MEMORY
    return TRAP_CALL if word & 0x01000000 else FALL


def _load_store(word: int) -> End:
    """Single load and store; media instructions share the encoding space."""
    if word & 0x02000010 == 0x02000010:
        return TRAP_CALL if word & 0x0FF000F0 == 0x07F000F0 else FALL
    if word & 0x0050F000 != 0x0010F000:
        return FALL_MEMORY
    post_indexed = not word & 0x01000000
    return RETURN if post_indexed and word >> 16 & 0xF == SP else JUMP_INDIRECT


def _data_processing(pc: int, word: int) -> End:
    """Data processing, and what shares its encoding space."""
    if word & 0x02000090 == 0x00000090:
        is_multiply = word & 0x60 == 0 and not word & 0x01000000
        return FALL if is_multiply else FALL_MEMORY
    opcode = word >> 21 & 0xF
    sets_flags = word & 0x00100000
    if 8 <= opcode <= 11:
        return FALL if sets_flags else _miscellaneous(pc, word)
    if word & 0xF000 != 0xF000:
        return FALL
    if sets_flags:
        return TRAP_RETURN
    if word & 0x0FFFFFFF == 0x01A0F00E:
        return RETURN
    if word & 0x0FEFF000 in (0x028FF000, 0x024FF000):  # add or sub pc, pc, #constant
        rotation = (word >> 8 & 0xF) * 2
        value = word & 0xFF
        value = (value >> rotation | value << (32 - rotation)) & 0xFFFFFFFF
        return End(EndKind.JUMP, 0, pc + 8 + (value if opcode == 4 else -value) & 0xFFFFFFFF)
    return JUMP_INDIRECT


def _miscellaneous(pc: int, word: int) -> End:
    """Branches through registers, traps, hints."""
    low = word & 0x0FFFFFF0
    if low == 0x012FFF10 or low == 0x012FFF20:
        register = word & 0xF
        if register == 15:
            return End(EndKind.JUMP, 0, pc + 8 & 0xFFFFFFFF)
        return RETURN if register == 14 else JUMP_INDIRECT
    if low == 0x012FFF30:
        return CALL_INDIRECT
    if word & 0x0F9000F0 == 0x01000070:  # hlt, bkpt, hvc, smc
        return TRAP_CALL
    if word & 0x0FFFFFFF == 0x0160006E:
        return TRAP_RETURN
    if word & 0x0FFFFFFF in (0x0320F002, 0x0320F003):
        return FALL_WAIT
    return FALL
