# SPDX-License-Identifier: GPL-2.0-or-later
"""Thumb, of M and A profile: DDI 0403 (ARMv7-M), DDI 0406 (ARMv7-A), DDI 0553 (ARMv8-M)."""

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
    EndFlag,
    EndKind,
    predicated,
    signed,
)

LR = 14
PC = 15
SP = 13

_EXC_RETURN_KINDS = (EndKind.RETURN, EndKind.JUMP_INDIRECT)


def is_wide(halfword: int) -> bool:
    """Whether an instruction that begins with this halfword has 32 bits."""
    return halfword >= 0xE800


def end_of(address: int, sizes: bytes, code: bytes, *, m_profile: bool) -> End:
    """How a block ends.

    Args:
        address: of the block.
        m_profile: loads of pc may be exception returns.
    """
    size = sizes[-1]
    pc = address + len(code) - size
    first = int.from_bytes(code[-size : len(code) - size + 2], "little")
    second = int.from_bytes(code[-2:], "little")
    end = _narrow(pc, first) if size == 2 else _wide(pc, first, second)
    if m_profile and end.kind in _EXC_RETURN_KINDS and _may_load_exc_return(first):
        end = End(end.kind, end.flags | EndFlag.MAY_EXC_RETURN, end.target)
    if 0xBF in code and len(sizes) - 1 in conditional_insns(sizes, code):
        return predicated(end)
    return end


def conditional_insns(sizes: bytes, code: bytes) -> set[int]:
    """Indexes of the instructions in IT blocks that begin in this block."""
    found = set()
    place = 0
    left = 0
    for index, size in enumerate(sizes):
        if left:
            found.add(index)
            left -= 1
        elif size == 2 and code[place + 1] == 0xBF and code[place] & 0xF:
            mask = code[place] & 0xF
            left = 4 - ((mask & -mask).bit_length() - 1)
        place += size
    return found


def _may_load_exc_return(first: int) -> bool:
    """Not mov pc, add pc, tbb and tbh: these branch without looking for EXC_RETURN."""
    if is_wide(first):
        return first & 0xFFF0 != 0xE8D0
    return first & 0xFC00 != 0x4400 or first & 0xFF00 == 0x4700


def _narrow(pc: int, word: int) -> End:
    if word & 0xF000 == 0xD000:
        condition = word >> 8 & 0xF
        if condition >= 14:  # 14 udf, 15 svc
            return TRAP_CALL
        return End(EndKind.COND, 0, pc + 4 + signed(word, 8) * 2 & 0xFFFFFFFF)
    if word & 0xF800 == 0xE000:
        return End(EndKind.JUMP, 0, pc + 4 + signed(word, 11) * 2 & 0xFFFFFFFF)
    if word & 0xFC00 == 0x4400:
        return _high_register(pc, word)
    if word & 0xF500 == 0xB100:
        offset = (word >> 3 & 0x1F) << 1 | (word >> 9 & 1) << 6
        return End(EndKind.COND, 0, pc + 4 + offset & 0xFFFFFFFF)
    if word & 0xFF00 == 0xBD00:
        return RETURN
    if word & 0xFF00 == 0xBE00:
        return TRAP_CALL
    if word in (0xBF20, 0xBF30):
        return FALL_WAIT
    if 0x4800 <= word < 0xA000 or word & 0xF600 == 0xB400 or word & 0xF000 == 0xC000:
        return FALL_MEMORY
    return FALL


def _high_register(pc: int, word: int) -> End:
    """Group 010001: add, cmp and mov with high registers, bx, blx."""
    register = word >> 3 & 0xF
    if word & 0xFF80 == 0x4780:
        return CALL_INDIRECT
    if word & 0xFF80 == 0x4700:
        if register == PC:
            return End(EndKind.JUMP, 0, (pc + 4 & ~3) & 0xFFFFFFFF)
        return RETURN if register == LR else JUMP_INDIRECT
    if word & 0xFF87 == 0x4687:
        return RETURN if register == LR else JUMP_INDIRECT
    if word & 0xFF87 == 0x4487:
        return JUMP_INDIRECT
    return FALL


def _wide(pc: int, first: int, second: int) -> End:
    if first & 0xF800 == 0xF000 and second & 0x8000:
        return _wide_branch(pc, first, second)
    if first & 0xFE00 == 0xE800:
        return _load_multiple(first, second)
    if first & 0xFF70 == 0xF850 and second >> 12 == PC:
        post_indexed = first & 0xFF80 == 0xF800 and second & 0x0D00 == 0x0900
        return RETURN if first & 0xF == SP and post_indexed else JUMP_INDIRECT
    if first & 0xFE00 == 0xF800 or first & 0xEE00 == 0xEC00:
        return FALL_MEMORY
    return FALL


def _load_multiple(first: int, second: int) -> End:
    """Load and store multiple, dual, exclusive; table branch."""
    if first & 0xFFF0 == 0xE8D0 and second & 0xFFE0 == 0xF000:
        return JUMP_INDIRECT
    if first & 0xFFD0 in (0xE810, 0xE990):
        return TRAP_RETURN
    if first & 0xFFD0 in (0xE890, 0xE910) and second & 0x8000:
        return RETURN
    return FALL_MEMORY


def _wide_branch(pc: int, first: int, second: int) -> End:
    """Branches and miscellaneous control."""
    base = pc + 4
    if second & 0x5000 == 0x5000:
        return End(EndKind.CALL, 0, base + _offset(first, second) & 0xFFFFFFFF)
    if second & 0x5000 == 0x1000:
        return End(EndKind.JUMP, 0, base + _offset(first, second) & 0xFFFFFFFF)
    if second & 0x5000 == 0x4000:
        if second & 1:
            return _loop(base, first, second)
        return End(EndKind.CALL, 0, (base & ~3) + _offset(first, second) & 0xFFFFFFFF)
    if first & 0x0380 != 0x0380:
        offset = (first >> 10 & 1) << 20 | (second >> 11 & 1) << 19 | (second >> 13 & 1) << 18
        offset |= (first & 0x3F) << 12 | (second & 0x7FF) << 1
        return End(EndKind.COND, 0, base + signed(offset, 21) & 0xFFFFFFFF)
    if first == 0xF3DE and second & 0xFF00 == 0x8F00:
        return TRAP_RETURN
    if first & 0xFFF0 == 0xF3C0 and second == 0x8F00:
        return RETURN if first & 0xF == LR else JUMP_INDIRECT
    if first == 0xF3AF and second in (0x8002, 0x8003):
        return FALL_WAIT
    if first & 0xFFE0 == 0xF7E0:  # hvc, smc, udf
        return TRAP_CALL
    if first == 0xF78F and second & 0xFFFC == 0x8000:  # dcps
        return TRAP_CALL
    return FALL


def _offset(first: int, second: int) -> int:
    """Signed 25-bit offset of bl, blx and b.w (encoding T4)."""
    sign = first >> 10 & 1
    i1 = (second >> 13 & 1) ^ sign ^ 1
    i2 = (second >> 11 & 1) ^ sign ^ 1
    offset = sign << 24 | i1 << 23 | i2 << 22 | (first & 0x3FF) << 12 | (second & 0x7FF) << 1
    return signed(offset, 25)


def _loop(base: int, first: int, second: int) -> End:
    """Low-overhead loops of ARMv8.1-M: le branches back, wls forward."""
    offset = (second >> 1 & 0x3FF) << 2 | (second >> 11 & 1) << 1
    if first in (0xF00F, 0xF01F, 0xF02F):
        kind = EndKind.JUMP if first == 0xF02F else EndKind.COND
        return End(kind, 0, base - offset & 0xFFFFFFFF)
    if first & 0xFF80 == 0xF000 and first & 0xF != PC:
        return End(EndKind.COND, 0, base + offset & 0xFFFFFFFF)
    return FALL
