# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks that load the stack pointer with something else, as routines that switch stacks do.

An epilogue that takes it from the frame pointer is none of them, nor is adding to it. What the
engine makes of it: docs/reconstruction.md, rules S. Encodings: the manuals named in `branches`.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

from gdbext.replay.kinds import Mode

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["loads_stack_pointer"]


def loads_stack_pointer(mode: int, sizes: bytes, code: bytes) -> bool:
    """Whether one of a block's instructions loads the stack pointer from memory or a register."""
    pattern = _PATTERNS.get(mode)
    if pattern is None or pattern.search(code) is None:  # nearly all blocks
        return False
    return any(
        pattern.match(code, end - size, end)
        for size, end in zip(sizes, accumulate(sizes), strict=True)
    )


def _one(accepts: Callable[[int], bool]) -> bytes:
    """A pattern of one byte."""
    return b"[" + b"".join(b"\\x%02x" % byte for byte in range(256) if accepts(byte)) + b"]"


def _any(*patterns: bytes) -> re.Pattern[bytes]:
    """One of them; `match` with the bounds of an instruction is exact."""
    return re.compile(b"|".join(patterns), re.DOTALL)


def _thumb() -> re.Pattern[bytes]:
    frames = (7, 11, 13)  # r7 or r11 is the frame pointer; 13 is sp
    return _any(
        # mov sp, Rm
        _one(lambda b: b & 0x87 == 0x85 and b >> 3 & 15 not in frames) + rb"\x46",
        # ldr.w sp, [Rn, ...]
        _one(lambda b: b & 0x70 == 0x50) + rb"\xf8." + _one(lambda b: b >> 4 == 13),
        # msr MSP, PSP and those of the non-secure state
        _one(lambda b: b >> 4 == 8) + rb"\xf3" + _one(lambda b: b & 0x7E == 8) + rb"\x88",
    )


def _arm() -> re.Pattern[bytes]:
    frames = (7, 11, 13)
    load = _one(lambda b: b & 0x50 == 0x10)  # L, not B
    conditional = 15
    return _any(
        # mov sp, Rm
        _one(lambda b: b < 15 and b not in frames)
        + rb"\xd0\xa0"
        + _one(lambda b: b & 15 == 1 and b >> 4 != conditional),
        # ldr sp, [Rn, #...] and [Rn, Rm]
        b"."
        + _one(lambda b: b >> 4 == 13)
        + load
        + _one(lambda b: b & 14 == 4 and b >> 4 != conditional),
        _one(lambda b: not b & 16)
        + _one(lambda b: b >> 4 == 13)
        + load
        + _one(lambda b: b & 14 == 6 and b >> 4 != conditional),
        # ldm Rn, {... sp ...}
        b"."
        + _one(lambda b: bool(b & 0x20))
        + _one(lambda b: bool(b & 16) and b & 15 not in frames)
        + _one(lambda b: b & 14 == 8 and b >> 4 != conditional),
    )


def _a64() -> re.Pattern[bytes]:
    return _any(
        # mov sp, Xn; not x29, the frame pointer
        _one(lambda b: b & 0x1F == 0x1F) + rb"[\x00-\x02]\x00\x91",
        _one(lambda b: b & 0x1F == 0x1F and b >> 5 not in (5, 7)) + rb"\x03\x00\x91",
        # msr SP_EL0, SP_EL1
        rb"[\x00-\x1f]\x41[\x18\x1c]\xd5",
    )


def _riscv() -> re.Pattern[bytes]:
    return _any(
        # c.mv sp, rs2; not s0, the frame pointer
        _one(lambda b: b & 0x83 == 2 and b >> 2 not in (0, 2, 8)) + rb"\x81",
        # c.lwsp and c.ldsp sp
        _one(lambda b: b & 0x83 == 2) + rb"[\x41\x51\x61\x71]",
        # addi sp, rs1, 0: rs1 is bit 7 of the second byte and 4 bits of the third
        rb"\x13\x01" + _one(lambda b: 0 < b < 16 and b not in (1, 4)) + rb"\x00",
        rb"\x13\x81[\x00-\x0f]\x00",
        # lw and ld sp
        rb"\x03[\x21\xa1\x31\xb1]",
    )


def _x86() -> re.Pattern[bytes]:
    before = rb"[\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65]*"
    not_r = _one(lambda b: b & 0xF4 == 0x40)  # REX, by its bits R and B
    not_b = _one(lambda b: b & 0xF1 == 0x40)
    return _any(
        # mov r/m, r: to sp, from any but sp and bp (r12 and r13 have their numbers, with R)
        before + not_b + rb"?\x89" + _one(lambda b: b & 0xC7 == 0xC4 and b >> 3 & 7 not in (4, 5)),
        before + _one(lambda b: b & 0xF5 == 0x44) + rb"\x89[\xe4\xec]",
        # mov r, r/m
        before + not_r + rb"?\x8b" + _one(lambda b: b >> 3 & 7 == 4 and b not in (0xE4, 0xE5)),
        before + _one(lambda b: b & 0xF5 == 0x41) + rb"\x8b[\xe4\xe5]",
        # pop sp; xchg sp, ax
        before + not_b + rb"?\x5c",
        before + not_b + rb"?\x94",
    )


_X86 = _x86()
_RISCV = _riscv()
_PATTERNS: dict[int, re.Pattern[bytes]] = {
    Mode.THUMB: _thumb(),
    Mode.ARM: _arm(),
    Mode.A64: _a64(),
    Mode.RV32: _RISCV,
    Mode.RV64: _RISCV,
    Mode.X86_16: _X86,
    Mode.X86_32: _X86,
    Mode.X86_64: _X86,
}
