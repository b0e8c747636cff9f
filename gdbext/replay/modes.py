# SPDX-License-Identifier: GPL-2.0-or-later
"""The instruction set of each block, from the instruction sizes that QEMU recorded.

Sizes alone decide most blocks. Where they fit several instruction sets: mapping symbols, then (Arm)
what the words would mean, then the nearest block that is certain, since code of one instruction set
lies together. What is left is counted as undecided and gets the likelier one.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice
from typing import TYPE_CHECKING

from gdbext.recording.format import INSN_BYTES_MAX
from gdbext.replay.branches import arm, thumb
from gdbext.replay.disassembly import is_known, sizes_agree
from gdbext.replay.kinds import EndFlag, EndKind, Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gdbext.recording.blocks import BlockTable

NEAR_BYTES = 4096
"""How far away a block that is certain still says something."""

PAGE_BYTES = 4096

_FROM_SYMBOLS = {"arm": Mode.ARM, "thumb": Mode.THUMB}
_LEAVES_ALWAYS = (
    EndKind.JUMP,
    EndKind.CALL,
    EndKind.CALL_INDIRECT,
    EndKind.JUMP_INDIRECT,
    EndKind.RETURN,
    EndKind.TRAP_RETURN,
)
_ONE_MODE = {"riscv32": Mode.RV32, "riscv64": Mode.RV64}
_X86 = (Mode.X86_16, Mode.X86_32, Mode.X86_64)


class ModeFinder:
    """Finds the mode of blocks, batch by batch as the table grows.

    Attributes:
        undecided: blocks that got the likelier mode, or UNDECIDED if none fits.
        seen_arm: a block was certainly A32, so this is no M-profile.
        unfinished: numbers of the x86 blocks whose last instruction is only begun, see
            `x86_unfinished`.
    """

    def __init__(
        self, target: str, mode_at: Callable[[int], str | None] | None, m_profile: bool | None
    ) -> None:
        self.undecided = 0
        self.seen_arm = False
        self.unfinished: set[int] = set()
        self._target = target
        self._mode_at = mode_at
        self._m_profile = m_profile
        self._certain = Neighbours()
        self._last = Mode.X86_64 if target == "x86_64" else Mode.X86_32

    def find(self, blocks: BlockTable, first: int) -> list[Mode]:
        """Modes of the blocks from number `first` to the end of the table."""
        numbers = range(first, len(blocks))
        one_mode = _ONE_MODE.get(self._target)
        if one_mode is not None:
            return [one_mode] * len(numbers)
        if self._target == "aarch64":
            return [Mode.THUMB if 2 in blocks.sizes(number) else Mode.A64 for number in numbers]
        possible = [self._possible(blocks, number) for number in numbers]
        for number, modes in zip(numbers, possible, strict=True):
            if len(modes) == 1:
                self._certain.add(blocks.address[number], modes[0])
                self.seen_arm |= modes[0] == Mode.ARM
        return [
            self._settled(blocks, number, modes)
            for number, modes in zip(numbers, possible, strict=True)
        ]

    def _possible(self, blocks: BlockTable, number: int) -> tuple[Mode, ...]:
        """What the sizes allow, narrowed by mapping symbols."""
        address, sizes, code = blocks.address[number], blocks.sizes(number), blocks.code(number)
        if self._target != "arm":
            modes = x86_modes(self._target, sizes, code, address)
            if modes:
                return modes
            modes = x86_unfinished(self._target, sizes, code, address)
            if modes:
                self.unfinished.add(number)
            return modes
        modes = arm_modes(sizes, code, address)
        if len(modes) > 1 and self._mode_at is not None:
            said = _FROM_SYMBOLS.get(self._mode_at(address) or "")
            if said is not None:
                return (said,)
        return modes

    def _settled(self, blocks: BlockTable, number: int, modes: tuple[Mode, ...]) -> Mode:
        if len(modes) == 1:
            self._last = modes[0]
            return modes[0]
        if not modes:
            self.undecided += 1
            return Mode.UNDECIDED
        address, code = blocks.address[number], blocks.code(number)
        if self._target == "arm":
            if self._m_profile or (self._m_profile is None and not self.seen_arm):
                return Mode.THUMB
            modes = meaningful(modes, code, address) or modes
            if len(modes) == 1:
                return modes[0]
        near = self._certain.nearest(address, modes)
        if near != Mode.UNDECIDED:
            return near
        self.undecided += 1
        if self._target == "arm":
            # Nearly all A32 instructions are unconditional, with 1110 in their top bits.
            return Mode.ARM if all(top >> 4 == 14 for top in code[3::4]) else Mode.THUMB
        # The order of ids is that of translation: long stretches are of one mode.
        return self._last if self._last in modes else modes[-1]


class Neighbours:
    """Modes of blocks that are certain, by address."""

    def __init__(self) -> None:
        self._modes: dict[int, Mode] = {}
        self._addresses: list[int] = []

    def add(self, address: int, mode: Mode) -> None:
        """The block at `address` is certain."""
        self._modes[address] = mode

    def nearest(self, address: int, among: tuple[Mode, ...]) -> Mode:
        """Mode of the nearest certain block whose mode is `among` these.

        Returns:
            UNDECIDED if none is within NEAR_BYTES.
        """
        if len(self._addresses) != len(self._modes):
            self._addresses = sorted(self._modes)
        place = bisect_left(self._addresses, address)
        above = islice(self._addresses, place, None)
        below = (self._addresses[index] for index in range(place - 1, -1, -1))
        found = [
            other
            for other in (self._first(side, address, among) for side in (below, above))
            if other is not None
        ]
        if not found:
            return Mode.UNDECIDED
        return self._modes[min(found, key=lambda other: abs(other - address))]

    def _first(self, side: Iterable[int], address: int, among: tuple[Mode, ...]) -> int | None:
        for other in side:
            if abs(other - address) > NEAR_BYTES:
                return None
            if self._modes[other] in among:
                return other
        return None


def arm_modes(sizes: bytes, code: bytes, address: int) -> tuple[Mode, ...]:
    """THUMB, ARM, both or none, by the sizes."""
    modes = []
    if _could_be_thumb(sizes, code):
        modes.append(Mode.THUMB)
    if not address & 3 and sizes.count(4) == len(sizes):
        modes.append(Mode.ARM)
    return tuple(modes)


def x86_modes(target: str, sizes: bytes, code: bytes, address: int) -> tuple[Mode, ...]:
    """The modes in which Capstone sees these sizes; none, one or several."""
    if address >> 32:
        # No other mode reaches there; only a last instruction across pages needs a look.
        certain = not _last_may_cross_page(sizes, code, address)
        known: tuple[Mode, ...] = (Mode.X86_64,)
        if certain:
            return known
    else:
        known = _X86 if target == "x86_64" else _X86[:2]
    return tuple(mode for mode in known if sizes_agree(mode, sizes, code, address))


def x86_unfinished(target: str, sizes: bytes, code: bytes, address: int) -> tuple[Mode, ...]:
    """The modes that fit when the last instruction is only the begin of one.

    QEMU up to 8.2 shows plugins such a piece where an instruction crosses into the next page; it is
    not executed in this block, but whole in the next one.
    """
    if len(sizes) < 2 or not _last_may_cross_page(sizes, code, address):
        return ()
    return x86_modes(target, sizes[:-1], code[: -sizes[-1]], address)


def _last_may_cross_page(sizes: bytes, code: bytes, address: int) -> bool:
    start = address + len(code) - sizes[-1]
    return start & (PAGE_BYTES - 1) > PAGE_BYTES - INSN_BYTES_MAX


def meaningful(modes: tuple[Mode, ...], code: bytes, address: int) -> tuple[Mode, ...]:
    """Of THUMB and ARM, those in which each of the block's words makes sense."""
    return tuple(mode for mode in modes if _makes_sense(mode, code, address))


def _could_be_thumb(sizes: bytes, code: bytes) -> bool:
    """Whether each size is what the Thumb instruction there has."""
    place = 0
    for size in sizes:
        # An instruction is wide when its first five bits are 11101, 11110 or 11111.
        if size != (4 if code[place + 1] >= 0xE8 else 2):
            return False
        place += size
    return True


def _makes_sense(mode: Mode, code: bytes, address: int) -> bool:
    """Every word is an instruction, and none but the last leaves the block for certain."""
    for place in range(0, len(code), 4):
        if not is_known(mode, code[place : place + 4], address + place):
            return False
    for place in range(4, len(code), 4):
        before = code[:place]
        if mode == Mode.THUMB:
            end = thumb.end_of(address, b"\4" * (place // 4), before, m_profile=False)
        else:
            end = arm.end_of(address, before)
        if end.kind in _LEAVES_ALWAYS and not end.flags & EndFlag.CONDITIONAL:
            return False
    return True
