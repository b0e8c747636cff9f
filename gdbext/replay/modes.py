# SPDX-License-Identifier: GPL-2.0-or-later
"""The instruction set of a block, from the instruction sizes that QEMU recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.replay.branches import arm, thumb
from gdbext.replay.disassembly import is_known, sizes_agree
from gdbext.replay.kinds import EndFlag, EndKind, Mode

if TYPE_CHECKING:
    from collections.abc import Callable

_FROM_SYMBOLS = {"arm": Mode.ARM, "thumb": Mode.THUMB}
_LEAVES_ALWAYS = (
    EndKind.JUMP,
    EndKind.CALL,
    EndKind.CALL_INDIRECT,
    EndKind.JUMP_INDIRECT,
    EndKind.RETURN,
    EndKind.TRAP_RETURN,
)


def arm_mode(sizes: bytes, code: bytes, address: int) -> Mode:
    """THUMB or ARM by what the sizes allow; UNDECIDED when they allow both."""
    as_thumb = could_be_thumb(sizes, code)
    as_arm = could_be_arm(sizes, address)
    if as_thumb and as_arm:
        return Mode.UNDECIDED
    if as_thumb:
        return Mode.THUMB
    return Mode.ARM if as_arm else Mode.UNDECIDED


def could_be_thumb(sizes: bytes, code: bytes) -> bool:
    """Whether each size is what the Thumb instruction there has."""
    place = 0
    for size in sizes:
        # An instruction is wide when its first five bits are 11101, 11110 or 11111.
        if size != (4 if code[place + 1] >= 0xE8 else 2):
            return False
        place += size
    return True


def could_be_arm(sizes: bytes, address: int) -> bool:
    """Whether this may be A32: only words, aligned."""
    return not address & 3 and sizes.count(4) == len(sizes)


def decided(sizes: bytes, code: bytes, address: int) -> Mode:
    """THUMB or ARM for a block whose sizes allow both, by what its words would mean.

    Returns:
        UNDECIDED if both make sense.
    """
    as_thumb = _makes_sense(Mode.THUMB, sizes, code, address)
    as_arm = _makes_sense(Mode.ARM, sizes, code, address)
    if as_thumb == as_arm:
        return Mode.UNDECIDED
    return Mode.THUMB if as_thumb else Mode.ARM


def from_symbols(mode_at: Callable[[int], str | None] | None, address: int) -> Mode:
    """What the mapping symbols say; UNDECIDED without one that fits."""
    if mode_at is None:
        return Mode.UNDECIDED
    return _FROM_SYMBOLS.get(mode_at(address) or "", Mode.UNDECIDED)


def _makes_sense(mode: Mode, sizes: bytes, code: bytes, address: int) -> bool:
    """Every word is an instruction, and none but the last leaves the block for certain."""
    for place in range(0, len(code), 4):
        if not is_known(mode, code[place : place + 4], address + place):
            return False
    for place in range(4, len(code), 4):
        before = code[:place]
        if mode == Mode.THUMB:
            end = thumb.end_of(address, sizes[: place // 4], before, m_profile=False)
        else:
            end = arm.end_of(address, before)
        if end.kind in _LEAVES_ALWAYS and not end.flags & EndFlag.CONDITIONAL:
            return False
    return True


class X86Modes:
    """The mode of x86 blocks, one after the other in the order of translation.

    The same bytes often have the same sizes in several modes; then the mode is that of the block
    before, since code of one mode is translated in long stretches.
    """

    def __init__(self, target: str) -> None:
        wide = target == "x86_64"
        self._known = (
            (Mode.X86_16, Mode.X86_32, Mode.X86_64)
            if wide
            else (
                Mode.X86_16,
                Mode.X86_32,
            )
        )
        self._last = Mode.X86_16

    def mode(self, sizes: bytes, code: bytes, address: int) -> Mode:
        """Mode of the next block; UNDECIDED if its sizes fit none."""
        if address >> 32:
            self._last = Mode.X86_64
            return Mode.X86_64
        candidates = (self._last, *(mode for mode in self._known if mode != self._last))
        for mode in candidates:
            if sizes_agree(mode, sizes, code, address):
                self._last = mode
                return mode
        return Mode.UNDECIDED
