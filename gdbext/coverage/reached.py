# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts laid over the instructions of a program, and what they prove."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from gdbext.coverage.model import Ratio

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdbext.coverage.execution import Execution
    from gdbext.replay.conditions import Scan

__all__ = ["Reached", "reach"]


@dataclass
class Reached:
    """Lists and sums are parallel to the addresses of the code.

    An instruction is *covered* if it certainly took effect (a `select` by being reached; a call
    or return with a condition by being taken), *undecided* if it was reached with a condition
    of its own that may have failed each time, else *missed*.
    """

    counts: list[int]
    """Times begun."""
    proven: list[int]
    """Times that it certainly took effect and shows that its line ran; -1: it was reached, but
    proves nothing, because it depends on a condition."""
    branches: list[int]
    """Places of conditional branches."""
    decisions: list[int]
    """Places of what decides without a branch."""
    covered_before: list[int]
    """Covered instructions before each place; one longer than the others, as all that follow."""
    undecided_before: list[int]
    outcomes_before: list[int]
    """Outcomes seen of conditional branches."""
    branches_before: list[int]
    decisions_before: list[int]

    def insns(self, first: int, end: int) -> Ratio:
        """Covered instructions in [first, end)."""
        return Ratio(self.covered_before[end] - self.covered_before[first], end - first)

    def outcomes(self, first: int, end: int) -> Ratio:
        """Outcomes seen of the conditional branches in [first, end), two for each."""
        return Ratio(
            self.outcomes_before[end] - self.outcomes_before[first],
            2 * (self.branches_before[end] - self.branches_before[first]),
        )

    def branches_in(self, first: int, end: int) -> list[int]:
        """Places of the conditional branches in [first, end)."""
        return self.branches[self.branches_before[first] : self.branches_before[end]]

    def decisions_in(self, first: int, end: int) -> list[int]:
        """Places of what decides without a branch in [first, end)."""
        return self.decisions[self.decisions_before[first] : self.decisions_before[end]]


def reach(scan: Scan, execution: Execution) -> Reached:
    """Lay what ran over the code."""
    addresses = scan.addresses
    counts = [execution.insns.get(address, 0) for address in addresses]
    proven = list(counts)
    covered = bytearray(map(bool, counts))
    undecided = bytearray(len(counts))
    seen = bytearray(len(counts))
    branches = _places(addresses, scan.branches)
    for place in branches:
        outcomes = execution.outcomes.get(addresses[place])
        if outcomes is not None:
            seen[place] = (outcomes.taken > 0) + (outcomes.not_taken > 0)
    for place in _places(addresses, scan.effects):
        outcomes = execution.outcomes.get(addresses[place])
        proven[place] = outcomes.taken if outcomes else 0
        covered[place] = bool(proven[place])
    predicated = _places(addresses, scan.predicated)
    for place in predicated:
        if counts[place]:
            proven[place] = -1
            covered[place], undecided[place] = 0, 1
    selects = _places(addresses, scan.selects)
    for place in selects:
        if counts[place]:
            proven[place] = -1
    decisions = sorted(predicated + selects)
    return Reached(
        counts,
        proven,
        branches,
        decisions,
        _sums(covered),
        _sums(undecided),
        _sums(seen),
        _sums(_marks(branches, len(counts))),
        _sums(_marks(decisions, len(counts))),
    )


def _sums(values: Iterable[int]) -> list[int]:
    return list(accumulate(values, initial=0))


def _marks(places: Iterable[int], size: int) -> bytearray:
    marks = bytearray(size)
    for place in places:
        marks[place] = 1
    return marks


def _places(addresses: list[int], wanted: Iterable[int]) -> list[int]:
    return [bisect_left(addresses, address) for address in sorted(wanted)]
