# SPDX-License-Identifier: GPL-2.0-or-later
"""How a block ends, in the numbers that Python and the C replay share."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import NamedTuple

NO_TARGET = (1 << 64) - 1
"""Target of a block that ends without a branch, or whose target only the run tells."""


class EndKind(IntEnum):
    """What the last instruction of a block does."""

    FALL = 0
    JUMP = 1
    COND = 2
    CALL = 3
    CALL_INDIRECT = 4
    JUMP_INDIRECT = 5
    RETURN = 6
    TRAP_RETURN = 7
    TRAP_CALL = 8
    UNKNOWN = 9


class EndFlag(IntFlag):
    """More about the last instruction; SWITCH is about all. Twin: GX_FLAG_* in state.h."""

    NONE = 0
    CONDITIONAL = 1
    """It is predicated and may fall through; COND says this by itself."""
    MEMORY = 2
    """It may access memory, is no branch and does not repeat."""
    REPEAT = 4
    """An x86 string instruction with a repeat prefix."""
    MAY_EXC_RETURN = 8
    """M-profile: it loads pc with a value that may be EXC_RETURN."""
    WAIT = 16
    """It waits for an interrupt or event."""
    SWITCH = 32
    """The block holds an instruction that loads the stack pointer with something else."""


class Mode(IntEnum):
    """Instruction set of a block."""

    UNDECIDED = 0
    THUMB = 1
    ARM = 2
    A64 = 3
    RV32 = 4
    RV64 = 5
    X86_16 = 6
    X86_32 = 7
    X86_64 = 8


class End(NamedTuple):
    """How one block ends. Plain integers of EndKind and EndFlag: this is made for every block."""

    kind: int
    flags: int = 0
    target: int = NO_TARGET


FALL = End(EndKind.FALL)
FALL_MEMORY = End(EndKind.FALL, EndFlag.MEMORY)
FALL_WAIT = End(EndKind.FALL, EndFlag.WAIT)
CALL_INDIRECT = End(EndKind.CALL_INDIRECT)
JUMP_INDIRECT = End(EndKind.JUMP_INDIRECT)
RETURN = End(EndKind.RETURN)
TRAP_RETURN = End(EndKind.TRAP_RETURN)
TRAP_CALL = End(EndKind.TRAP_CALL)
UNKNOWN = End(EndKind.UNKNOWN)


def predicated(end: End) -> End:
    """The same end, when its instruction is executed only if a condition holds."""
    if end.kind == EndKind.FALL:
        return end
    if end.kind in (EndKind.JUMP, EndKind.COND):
        return End(EndKind.COND, end.flags, end.target)
    return End(end.kind, end.flags | EndFlag.CONDITIONAL, end.target)


def signed(value: int, bits: int) -> int:
    """The two's complement number in the low `bits` of value."""
    sign = 1 << (bits - 1)
    return ((value & ((1 << bits) - 1)) ^ sign) - sign
