# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts laid over the instructions of a program, and what they prove."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Final

from gdbext.coverage.model import Ratio
from gdbext.coverage.sums import sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdbext.coverage.execution import Execution
    from gdbext.coverage.layout import Layout

__all__ = ["UNDECIDED", "Reached", "reach"]

UNDECIDED: Final = -1
"""Stands for a count that is not known: instructions were reached that prove nothing."""


@dataclass
class Reached:
    """Arrays and sums are by place: parallel to the addresses of the layout.

    An instruction is *covered* if it certainly took effect (a `select` by being reached; a call
    or return with a condition by being taken), *undecided* if it was reached with a condition
    of its own that may have failed each time, else *missed*.
    """

    counts: array[int]
    """Times begun."""
    proven: array[int]
    """Times that it certainly took effect and shows that its line ran; UNDECIDED: it was reached,
    but proves nothing, because it depends on a condition."""
    branches: Sequence[int]
    """Places of conditional branches."""
    decisions: list[int]
    """Places of what decides without a branch."""
    covered_before: array[int]
    """Covered instructions before each place; one longer than the others, as all that follow."""
    undecided_before: array[int]
    outcomes_before: array[int]
    """Outcomes seen of conditional branches."""
    branches_before: array[int]
    decisions_before: array[int]

    def insns(self, first: int, end: int) -> Ratio:
        """Covered instructions in [first, end)."""
        return Ratio(self.covered_before[end] - self.covered_before[first], end - first)

    def outcomes(self, first: int, end: int) -> Ratio:
        """Outcomes seen of the conditional branches in [first, end), two for each."""
        return Ratio(
            self.outcomes_before[end] - self.outcomes_before[first],
            2 * (self.branches_before[end] - self.branches_before[first]),
        )

    def branches_in(self, first: int, end: int) -> range:
        """Indices in `branches` of those in [first, end)."""
        return range(self.branches_before[first], self.branches_before[end])

    def decisions_in(self, first: int, end: int) -> list[int]:
        """Places of what decides without a branch in [first, end)."""
        return self.decisions[self.decisions_before[first] : self.decisions_before[end]]


def reach(layout: Layout, execution: Execution) -> Reached:
    """Lay what ran over the code."""
    addresses, n = layout.addresses, len(layout.addresses)
    counts = array("Q", map(execution.insns.get, addresses, repeat(0)))
    proven = array("q", counts)
    covered = bytearray(map(bool, counts))
    undecided = bytearray(n)
    seen = bytearray(n)
    for place in layout.branches:
        outcomes = execution.outcomes.get(addresses[place])
        if outcomes is not None:
            seen[place] = (outcomes.taken > 0) + (outcomes.not_taken > 0)
    for place in layout.effects:
        outcomes = execution.outcomes.get(addresses[place])
        proven[place] = outcomes.taken if outcomes else 0
        covered[place] = bool(proven[place])
    for place in layout.predicated:
        if counts[place]:
            proven[place] = UNDECIDED
            covered[place], undecided[place] = 0, 1
    for place in layout.selects:
        if counts[place]:
            proven[place] = UNDECIDED
    decisions = sorted((*layout.predicated, *layout.selects))
    return Reached(
        counts,
        proven,
        layout.branches,
        decisions,
        sums(covered),
        sums(undecided),
        sums(seen),
        sums(_marks(layout.branches, n)),
        sums(_marks(decisions, n)),
    )


def _marks(places: Iterable[int], size: int) -> bytearray:
    marks = bytearray(size)
    for place in places:
        marks[place] = 1
    return marks
