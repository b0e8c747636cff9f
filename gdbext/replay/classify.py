# SPDX-License-Identifier: GPL-2.0-or-later
"""Each distinct block classified once: instruction set, how it ends, static target.

The last instruction is read from its encoding, one module of `branches` for each instruction set;
Capstone is asked only where sizes leave the instruction set open, or an instruction is unknown.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from gdbext.errors import UsageError
from gdbext.replay.branches import a64, arm, riscv, thumb, x86
from gdbext.replay.disassembly import disassemble, is_known
from gdbext.replay.kinds import (
    FALL,
    NO_TARGET,
    UNKNOWN,
    End,
    EndFlag,
    EndKind,
    Mode,
)
from gdbext.replay.modes import X86Modes, arm_mode, decided, from_symbols

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdbext.recording.blocks import BlockTable

__all__ = [
    "NO_TARGET",
    "Classifier",
    "EndFlag",
    "EndKind",
    "Mode",
    "classify",
    "conditional_insns",
    "disassemble",
]

TARGETS = ("arm", "aarch64", "riscv32", "riscv64", "i386", "x86_64")


class Classifier:
    """Arrays indexed by block id, as in BlockTable; index 0 is a filler.

    Attributes:
        end_kind: EndKind of the last instruction, array of u8.
        flags: EndFlag bits of the last instruction, array of u8.
        target: address of a direct branch without Thumb bit, or NO_TARGET; array of u64.
        mode: Mode, array of u8.
        undecided: blocks whose instruction set neither sizes, symbols nor meaning decide; they
            are classified as the likelier one.
        unknown: blocks whose last instruction could not be read.
        m_profile: whether 32-bit Arm code is M-profile; None until a block tells.
    """

    def __init__(
        self,
        target: str,
        mode_at: Callable[[int], str | None] | None = None,
        m_profile: bool | None = None,
    ) -> None:
        """Nothing is classified yet.

        Args:
            target: QEMU's target name, key `target` of the recording's metadata.
            mode_at: for 32-bit Arm, what the mapping symbols say of an address: 'arm', 'thumb',
                'data' or None; they go before everything else.
            m_profile: True or False if the board says so; None: M-profile as long as no block
                can only be A32.

        Raises:
            UsageError: an unknown target.
        """
        if target not in TARGETS:
            raise UsageError(f"target '{target}' is not known; known are {', '.join(TARGETS)}")
        self.end_kind = array("B", (EndKind.UNKNOWN,))
        self.flags = array("B", (0,))
        self.target = array("Q", (NO_TARGET,))
        self.mode = array("B", (Mode.UNDECIDED,))
        self.undecided = 0
        self.unknown = 0
        self.m_profile = m_profile
        self._target_name = target
        self._mode_at = mode_at
        self._x86_modes = X86Modes(target)
        self._seen_arm = False

    def update(self, blocks: BlockTable) -> None:
        """Classify the blocks that are new in the table.

        When a first A32 block shows up, the M-profile flags of earlier ones are taken back.
        """
        first = len(self.end_kind)
        if self._target_name == "arm":
            self._update_arm(blocks, first)
        else:
            for number in range(first, len(blocks)):
                sizes, code = blocks.sizes(number), blocks.code(number)
                self._add(*self._classify_other(blocks.address[number], sizes, code))

    def _add(self, mode: Mode, end: End) -> None:
        self.mode.append(mode)
        self.end_kind.append(end.kind)
        self.flags.append(end.flags)
        self.target.append(end.target)
        self.unknown += end.kind == EndKind.UNKNOWN

    def _classify_other(self, address: int, sizes: bytes, code: bytes) -> tuple[Mode, End]:
        """A block of any target but `arm`."""
        name = self._target_name
        if name == "aarch64":
            if 2 in sizes:
                return Mode.THUMB, thumb.end_of(address, sizes, code, m_profile=False)
            return Mode.A64, _checked(Mode.A64, a64.end_of(address, code), address, sizes, code)
        if name in ("riscv32", "riscv64"):
            mode, bits = (Mode.RV32, 32) if name == "riscv32" else (Mode.RV64, 64)
            return mode, riscv.end_of(address, sizes, code, bits=bits)
        mode = self._x86_modes.mode(sizes, code, address)
        self.undecided += mode == Mode.UNDECIDED
        return mode, x86.end_of(address, sizes, code, bits=64 if name == "x86_64" else 32)

    def _update_arm(self, blocks: BlockTable, first: int) -> None:
        """32-bit Arm: modes first, because one A32 block tells about all others."""
        modes = [self._arm_mode(blocks, number) for number in range(first, len(blocks))]
        if Mode.ARM in modes and not self._seen_arm:
            self._seen_arm = True
            if self.m_profile is None:
                self._forget_m_profile()
        m_profile = not self._seen_arm if self.m_profile is None else self.m_profile
        for index, mode in enumerate(modes):
            number = first + index
            address, sizes, code = blocks.address[number], blocks.sizes(number), blocks.code(number)
            if mode == Mode.UNDECIDED:
                mode = self._settled(address, sizes, code, m_profile)
            if mode == Mode.THUMB:
                end = thumb.end_of(address, sizes, code, m_profile=m_profile)
            elif mode == Mode.ARM:
                end = arm.end_of(address, code)
            else:
                end = UNKNOWN
            self._add(mode, _checked(mode, end, address, sizes, code))

    def _arm_mode(self, blocks: BlockTable, number: int) -> Mode:
        """By mapping symbols, else by sizes."""
        sizes, code = blocks.sizes(number), blocks.code(number)
        address = blocks.address[number]
        by_sizes = arm_mode(sizes, code, address)
        if by_sizes == Mode.UNDECIDED and set(sizes) == {4}:
            return from_symbols(self._mode_at, address)
        return by_sizes

    def _settled(self, address: int, sizes: bytes, code: bytes, m_profile: bool) -> Mode:
        """A block that can be both by its sizes, or neither."""
        if set(sizes) != {4}:
            self.undecided += 1
            return Mode.UNDECIDED
        if m_profile:
            return Mode.THUMB
        mode = decided(sizes, code, address)
        if mode == Mode.UNDECIDED:
            self.undecided += 1
            # Nearly all A32 instructions are unconditional, with 1110 in their top bits.
            mode = Mode.ARM if all(top >> 4 == 14 for top in code[3::4]) else Mode.THUMB
        return mode

    def _forget_m_profile(self) -> None:
        for number, flags in enumerate(self.flags):
            self.flags[number] = flags & ~EndFlag.MAY_EXC_RETURN


def classify(
    target: str,
    blocks: BlockTable,
    mode_at: Callable[[int], str | None] | None = None,
    m_profile: bool | None = None,
) -> Classifier:
    """Classify all blocks of a table; arguments and results as in `Classifier`.

    Raises:
        UsageError: an unknown target.
    """
    classifier = Classifier(target, mode_at, m_profile)
    classifier.update(blocks)
    return classifier


def conditional_insns(mode: int, sizes: bytes, code: bytes) -> set[int]:
    """Indexes of a block's instructions that take effect only if a condition holds.

    These are A32 instructions with a condition and those in Thumb IT blocks; conditional branches
    themselves only where they are such.
    """
    if mode == Mode.THUMB:
        return thumb.conditional_insns(sizes, code)
    if mode == Mode.ARM:
        return arm.conditional_insns(code)
    return set()


def _checked(mode: Mode, end: End, address: int, sizes: bytes, code: bytes) -> End:
    """UNKNOWN instead of a plain FALL whose instruction Capstone does not know."""
    if end != FALL:
        return end
    size = sizes[-1]
    return end if is_known(mode, code[-size:], address + len(code) - size) else UNKNOWN
