# SPDX-License-Identifier: GPL-2.0-or-later
"""RV32 and RV64 with C: The RISC-V Instruction Set Manual, volume I, chapters "RV32I" and "C"."""

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
    UNKNOWN,
    End,
    EndKind,
    signed,
)

LINK_REGISTERS = (1, 5)

_LOADS_AND_STORES = (0x03, 0x07, 0x0F, 0x23, 0x27, 0x2F)
_SYSTEM = {
    0x000: TRAP_CALL,  # ecall
    0x001: TRAP_CALL,  # ebreak
    0x002: TRAP_RETURN,  # uret
    0x102: TRAP_RETURN,  # sret
    0x302: TRAP_RETURN,  # mret
    0x702: TRAP_RETURN,  # mnret
    0x7B2: TRAP_RETURN,  # dret
    0x105: FALL_WAIT,  # wfi
    0x00D: FALL_WAIT,  # wrs.nto
    0x01D: FALL_WAIT,  # wrs.sto
}
_UNIMP = 0xC0001073


def end_of(address: int, sizes: bytes, code: bytes, *, bits: int) -> End:
    """How a block ends; `bits` is 32 or 64."""
    size = sizes[-1]
    word = int.from_bytes(code[-size:], "little")
    pc = address + len(code) - size
    mask = (1 << bits) - 1
    if size == 2:
        end, source, offset = _compressed(pc, word, bits, mask)
    else:
        end, source, offset = _full(pc, word, mask)
    if source and len(sizes) > 1:
        return _resolved(end, source, offset, address, sizes, code, mask)
    return end


def _full(pc: int, word: int, mask: int) -> tuple[End, int, int]:
    """The end, and for an indirect one its register and offset (else 0)."""
    opcode = word & 0x7F
    if opcode == 0x63:
        offset = word >> 31 << 12 | (word >> 7 & 1) << 11
        offset |= (word >> 25 & 0x3F) << 5 | (word >> 8 & 0xF) << 1
        return End(EndKind.COND, 0, pc + signed(offset, 13) & mask), 0, 0
    if opcode == 0x6F:
        offset = word >> 31 << 20 | (word >> 12 & 0xFF) << 12
        offset |= (word >> 20 & 1) << 11 | (word >> 21 & 0x3FF) << 1
        kind = EndKind.CALL if word >> 7 & 0x1F in LINK_REGISTERS else EndKind.JUMP
        return End(kind, 0, pc + signed(offset, 21) & mask), 0, 0
    if opcode == 0x67:
        link, source = word >> 7 & 0x1F, word >> 15 & 0x1F
        return _jalr(link, source), source, signed(word >> 20, 12)
    if opcode in _LOADS_AND_STORES:
        return FALL_MEMORY, 0, 0
    if opcode == 0x73:
        return _system(word), 0, 0
    return (FALL if opcode & 3 == 3 else UNKNOWN), 0, 0


def _jalr(link: int, source: int) -> End:
    """By the return-address stack hints: a link register in rd is a call, in rs1 alone a return.

    Two different link registers are a coroutine swap (return and call); it counts as a call.
    """
    if link in LINK_REGISTERS:
        return CALL_INDIRECT
    return RETURN if source in LINK_REGISTERS else JUMP_INDIRECT


def _system(word: int) -> End:
    function = word >> 12 & 7
    if function == 4:  # loads and stores of the hypervisor
        return FALL_MEMORY
    if word == _UNIMP:
        return TRAP_CALL
    if function or word >> 7 & 0x1F:
        return FALL
    return _SYSTEM.get(word >> 20, FALL) if not word >> 15 & 0x1F else FALL


def _compressed(pc: int, word: int, bits: int, mask: int) -> tuple[End, int, int]:
    quadrant, function = word & 3, word >> 13
    if quadrant == 1:
        if function == 5 or (function == 1 and bits == 32):
            kind = EndKind.JUMP if function == 5 else EndKind.CALL
            return End(kind, 0, pc + _jump_offset(word) & mask), 0, 0
        if function >= 6:
            return End(EndKind.COND, 0, pc + _branch_offset(word) & mask), 0, 0
        return FALL, 0, 0
    if quadrant == 0:
        if word == 0:
            return TRAP_CALL, 0, 0
        return (FALL_MEMORY if function else FALL), 0, 0
    if function != 4:
        return (FALL_MEMORY if function else FALL), 0, 0
    source, other = word >> 7 & 0x1F, word >> 2 & 0x1F
    if other:
        return FALL, 0, 0
    if not word & 0x1000:
        return (_jalr(0, source), source, 0) if source else (UNKNOWN, 0, 0)
    return (_jalr(1, source), source, 0) if source else (TRAP_CALL, 0, 0)


def _jump_offset(word: int) -> int:
    """Format CJ: bits 12 to 2 hold offset 11, 4, 9:8, 10, 6, 7, 3:1, 5."""
    offset = (word >> 12 & 1) << 11 | (word >> 11 & 1) << 4 | (word >> 9 & 3) << 8
    offset |= (word >> 8 & 1) << 10 | (word >> 7 & 1) << 6 | (word >> 6 & 1) << 7
    offset |= (word >> 3 & 7) << 1 | (word >> 2 & 1) << 5
    return signed(offset, 12)


def _branch_offset(word: int) -> int:
    """Format CB: bits 12 to 10 hold offset 8, 4:3; bits 6 to 2 hold 7:6, 2:1, 5."""
    offset = (word >> 12 & 1) << 8 | (word >> 10 & 3) << 3
    offset |= (word >> 5 & 3) << 6 | (word >> 3 & 3) << 1 | (word >> 2 & 1) << 5
    return signed(offset, 9)


def _resolved(
    end: End, source: int, offset: int, address: int, sizes: bytes, code: bytes, mask: int
) -> End:
    """A jump or call to a constant: its register was set by auipc or lui just before."""
    size = sizes[-2]
    start = len(code) - sizes[-1] - size
    value = _constant(int.from_bytes(code[start : start + size], "little"), source, address + start)
    if value is None:
        return end
    kind = EndKind.CALL if end.kind == EndKind.CALL_INDIRECT else EndKind.JUMP
    return End(kind, end.flags, value + offset & mask & ~1)


def _constant(word: int, register: int, pc: int) -> int | None:
    """What lui, c.lui or auipc puts in the register; None for other instructions."""
    if word >> 7 & 0x1F != register:
        return None
    if word & 3 != 3:
        is_lui = word & 0xE003 == 0x6001 and register != 2
        return signed(word >> 7 & 0x20 | word >> 2 & 0x1F, 6) << 12 if is_lui else None
    value = signed(word >> 12, 20) << 12
    if word & 0x7F == 0x17:
        return pc + value
    return value if word & 0x7F == 0x37 else None
