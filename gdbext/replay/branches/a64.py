# SPDX-License-Identifier: GPL-2.0-or-later
"""A64: DDI 0487, chapter C4."""

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

ADDRESS_MASK = (1 << 64) - 1

# Field opc of "Unconditional branch (register)"; 8 and 9 are with pointer authentication.
_REGISTER_BRANCHES = {
    0: JUMP_INDIRECT,
    1: CALL_INDIRECT,
    2: RETURN,
    4: TRAP_RETURN,
    5: TRAP_RETURN,
    8: JUMP_INDIRECT,
    9: CALL_INDIRECT,
}
_WAITS = (0xD503205F, 0xD503207F)  # wfe, wfi


def end_of(address: int, code: bytes) -> End:
    """How a block at `address` ends."""
    word = int.from_bytes(code[-4:], "little")
    pc = address + len(code) - 4
    group = word >> 25 & 0xF
    if group & 0xE == 0xA:
        return _branch(pc, word)
    if group & 5 == 4:
        return FALL_MEMORY
    if group == 2:
        return FALL_MEMORY if word & 0x80000000 else FALL
    if word >> 16 == 0:
        return TRAP_CALL
    return FALL


def _branch(pc: int, word: int) -> End:
    """Branches, exception generating and system instructions."""
    if word & 0x7C000000 == 0x14000000:
        kind = EndKind.CALL if word & 0x80000000 else EndKind.JUMP
        return _to(kind, pc, signed(word, 26))
    if word & 0x7E000000 == 0x34000000:
        return _to(EndKind.COND, pc, signed(word >> 5, 19))
    if word & 0x7E000000 == 0x36000000:
        return _to(EndKind.COND, pc, signed(word >> 5, 14))
    if word & 0xFF000000 == 0x54000000:
        kind = EndKind.JUMP if word & 0xE == 0xE else EndKind.COND
        return _to(kind, pc, signed(word >> 5, 19))
    if word & 0xFE000000 == 0xD6000000:
        return _REGISTER_BRANCHES.get(word >> 21 & 0xF, UNKNOWN)
    if word & 0xFF000000 == 0xD4000000:
        return TRAP_CALL
    if word in _WAITS or word & 0xFFFFFFC0 == 0xD5031000:  # wfet, wfit
        return FALL_WAIT
    # sys, among them the cache maintenance that writes memory
    return FALL_MEMORY if word & 0xFFF80000 == 0xD5080000 else FALL


def _to(kind: EndKind, pc: int, words: int) -> End:
    return End(kind, 0, pc + words * 4 & ADDRESS_MASK)
