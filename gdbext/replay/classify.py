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
    FALL_MEMORY,
    NO_TARGET,
    TRAP_RETURN,
    UNKNOWN,
    End,
    EndFlag,
    EndKind,
    Mode,
)
from gdbext.replay.modes import ModeFinder
from gdbext.replay.signal_return import returns_from_signal
from gdbext.replay.stack_switch import loads_stack_pointer

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
        flags: EndFlag bits of the last instruction, and SWITCH of the block; array of u8.
        target: address of a direct branch without Thumb bit, or NO_TARGET; array of u64.
        mode: Mode, array of u8.
        unknown: blocks whose last instruction could not be read.
        m_profile: as given; see is_m_profile.
    """

    def __init__(
        self,
        target: str,
        mode_at: Callable[[int], str | None] | None = None,
        m_profile: bool | None = None,
        *,
        user_mode: bool = False,
    ) -> None:
        """Nothing is classified yet.

        Args:
            target: QEMU's target name, key `target` of the recording's metadata.
            mode_at: for 32-bit Arm, what the mapping symbols say of an address: 'arm', 'thumb',
                'data' or None; they go before everything else.
            m_profile: True or False if the board says so; None: M-profile as long as no block
                can only be A32.
            user_mode: it is a Linux program's code: a system call may return from a signal.

        Raises:
            UsageError: an unknown target.
        """
        if target not in TARGETS:
            raise UsageError(f"target '{target}' is not known; known are {', '.join(TARGETS)}")
        self.end_kind = array("B", (EndKind.UNKNOWN,))
        self.flags = array("B", (0,))
        self.target = array("Q", (NO_TARGET,))
        self.mode = array("B", (Mode.UNDECIDED,))
        self.unknown = 0
        self.m_profile = m_profile
        self._target_name = target
        self._user_mode = user_mode
        self._mode_at = mode_at
        self._modes = ModeFinder(target, mode_at, m_profile)
        self._had_arm = False

    @property
    def undecided(self) -> int:
        """Blocks whose instruction set nothing decides; they got the likelier one."""
        return self._modes.undecided

    @property
    def is_m_profile(self) -> bool:
        """Whether 32-bit Arm code is M-profile, as given or as the blocks so far tell."""
        if self.m_profile is not None:
            return self.m_profile
        return self._target_name == "arm" and not self._had_arm

    def update(self, blocks: BlockTable) -> None:
        """Classify the blocks that are new in the table.

        When a first A32 block shows up, the M-profile flags of earlier ones are taken back.
        """
        first = len(self.end_kind)
        modes = self._modes.find(blocks, first)
        if self._modes.seen_arm and not self._had_arm:
            self._had_arm = True
            if self.m_profile is None:
                self._forget_m_profile()
        for number, mode in enumerate(modes, first):
            address, sizes, code = blocks.address[number], blocks.sizes(number), blocks.code(number)
            if number in self._modes.unfinished:
                # The next block begins with this instruction, as after one that is restarted.
                end = FALL_MEMORY
            else:
                end = self._end_of(mode, address, sizes, code)
            if (
                self._user_mode
                and end.kind in (EndKind.TRAP_CALL, EndKind.UNKNOWN)
                and returns_from_signal(self._target_name, sizes, code)
            ):
                end = TRAP_RETURN
            switch = EndFlag.SWITCH if loads_stack_pointer(mode, sizes, code) else 0
            self.mode.append(mode)
            self.end_kind.append(end.kind)
            self.flags.append(end.flags | switch)
            self.target.append(end.target)
            self.unknown += end.kind == EndKind.UNKNOWN

    def _end_of(self, mode: Mode, address: int, sizes: bytes, code: bytes) -> End:
        name = self._target_name
        if name in ("i386", "x86_64"):  # needs no mode
            return x86.end_of(address, sizes, code, bits=64 if name == "x86_64" else 32)
        if mode in (Mode.RV32, Mode.RV64):
            return riscv.end_of(address, sizes, code, bits=32 if mode == Mode.RV32 else 64)
        if mode == Mode.THUMB:
            end = thumb.end_of(address, sizes, code, m_profile=self.is_m_profile)
        elif mode == Mode.ARM:
            end = arm.end_of(address, code)
        elif mode == Mode.A64:
            end = a64.end_of(address, code)
        else:
            return UNKNOWN
        return _checked(mode, end, address, sizes, code)

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
