# SPDX-License-Identifier: GPL-2.0-or-later
"""What a replay found: counts of blocks, edges between blocks, cuts and traps."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from array import array

__all__ = ["Cut", "Edge", "Stats", "Tables", "Trap", "TrapSource"]


class Edge(NamedTuple):
    """Block `to` was executed after block `from_`, as the program itself wanted (ids).

    `n` times directly, and `recovered` times with a trap in between: the trap came after
    `from_` had ended and before `to` began.
    """

    from_: int
    to: int
    n: int
    recovered: int

    @property
    def total(self) -> int:
        """How often in all."""
        return self.n + self.recovered


class Cut(NamedTuple):
    """Block `block` was left after its first `begun` instructions, `n` times."""

    block: int
    begun: int
    n: int


class TrapSource(IntEnum):
    """How a trap entry is known."""

    EVENT = 1
    """QEMU reported it."""
    INFERRED = 2
    """Control moved where the program could not have gone by itself, or to a known handler."""
    PROBE = 3
    """Registers read at the handler's first instruction told it."""


class Trap(NamedTuple):
    """`n` traps into block `to`, after `begun` instructions of block `from_` (0: all).

    `tail_chained` of them came directly after another handler had ended. `from_` is 0 when
    nothing is known of what was interrupted.
    """

    from_: int
    begun: int
    to: int
    source: TrapSource
    n: int
    tail_chained: int


@dataclass(frozen=True)
class Stats:
    """Counters of the trap stack; the rules are named in docs/reconstruction.md."""

    traps: int
    """Trap entries."""
    trap_returns: int
    """Returns from traps."""
    tail_chains: int
    """Handlers that began directly after another had ended."""
    task_switches: int
    """Traps that returned to a context suspended earlier, not to the one they interrupted."""
    context_starts: int
    """Traps that returned to where nothing had been suspended: a new task begins."""
    ambiguous: int
    """Returns that fitted more than one context (rule S5 says which was taken)."""
    late_switches: int
    """Task switches that only a later return told."""
    resets: int
    """Resets of the machine."""
    unmatched_returns: int
    """Returns that fit no call, while calls were open."""
    above_start: int
    """Returns out of what was open when the recording began."""
    unwinds: int
    """Frames that were left together with others: longjmp, exceptions."""
    ambiguous_unwinds: int
    """Of the times that happened: several activations of a recursive function could be meant."""
    middle_entries: int
    """Functions that were entered in the middle."""
    abandoned: int
    """Handlers that never returned."""
    unexplained: int
    """Moves of control that nothing explains (the debugger set the program counter)."""
    restarts: int
    """Instructions that QEMU itself began twice; they count once."""
    resumes: int
    """Blocks that QEMU left in the middle and went on with (device access)."""
    gaps: int
    """Places where something was not recorded."""
    gap_blocks: int
    """Blocks lost in gaps, as far as known."""
    filtered: int
    """Places where a filter or trigger left something out."""
    filtered_blocks: int
    """Blocks that were left out there."""
    filtered_insns: int
    """Instructions that were executed in these blocks."""
    starts: int
    """Pieces of recording: first blocks after a start, gap or reset."""
    max_nesting: int
    """Deepest nesting of traps."""
    dropped_contexts: int
    """Suspended contexts that were forgotten because there were too many."""
    dropped_frames: int
    """Outermost calls of stacks that grew beyond their limit."""
    late: int
    """Counted before a handler's address, or where longjmps go, was known; 0 in a second pass."""

    @classmethod
    def zero(cls) -> Stats:
        """Nothing was replayed."""
        return cls(*(0 for _ in fields(cls)))


@dataclass(frozen=True)
class Tables:
    """Results of a replay up to one moment.

    Attributes:
        n_insns: instructions begun, by vCPU.
        n_blocks: blocks begun, by vCPU.
        executions: how often each block was begun, by id (array of u64, index 0 unused).
        other_arrivals: of those, the ones that no edge counts: first blocks, trap entries, and
            returns from traps (same shape).
        continued: of those, the ones that went on inside a block left in the middle (same shape).
        edges: pairs of blocks that followed each other.
        cuts: blocks left in the middle, to be taken off the counts of their later instructions.
        traps: trap entries.
    """

    n_insns: dict[int, int]
    n_blocks: dict[int, int]
    executions: array[int]
    other_arrivals: array[int]
    continued: array[int]
    edges: list[Edge]
    cuts: list[Cut]
    traps: list[Trap]
    stats: Stats
    restarted: dict[int, int]
    """Times that the last instruction of a block (id) was begun again by QEMU; to be taken off."""

    @property
    def instructions(self) -> int:
        """Instructions begun, all vCPUs."""
        return sum(self.n_insns.values())
