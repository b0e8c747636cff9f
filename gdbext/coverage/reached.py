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


class _Sums:
    """How much of something is in [first, end), from sums up to each place."""

    def __init__(self, values: Iterable[int]) -> None:
        self._before = list(accumulate(values, initial=0))

    def of(self, first: int, end: int) -> int:
        return self._before[end] - self._before[first]


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
    _covered: _Sums
    _undecided: _Sums
    _outcomes: _Sums
    """Outcomes seen of conditional branches."""

    def insns(self, first: int, end: int) -> Ratio:
        """Covered instructions in [first, end)."""
        return Ratio(self._covered.of(first, end), end - first)

    def undecided(self, first: int, end: int) -> int:
        """Undecided instructions in [first, end)."""
        return self._undecided.of(first, end)

    def is_missed(self, first: int, end: int) -> bool:
        """Whether any instruction in [first, end) is missed."""
        return self._covered.of(first, end) + self._undecided.of(first, end) < end - first

    def outcomes(self, first: int, end: int) -> Ratio:
        """Outcomes seen of the conditional branches in [first, end), two for each."""
        low, high = bisect_left(self.branches, first), bisect_left(self.branches, end)
        return Ratio(self._outcomes.of(first, end), 2 * (high - low))

    def branches_in(self, first: int, end: int) -> list[int]:
        """Places of the conditional branches in [first, end)."""
        return self.branches[bisect_left(self.branches, first) : bisect_left(self.branches, end)]

    def decisions_in(self, first: int, end: int) -> list[int]:
        """Places of what decides without a branch in [first, end)."""
        low = bisect_left(self.decisions, first)
        return self.decisions[low : bisect_left(self.decisions, end)]


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
        counts, proven, branches, decisions, _Sums(covered), _Sums(undecided), _Sums(seen)
    )


def _places(addresses: list[int], wanted: Iterable[int]) -> list[int]:
    return [bisect_left(addresses, address) for address in sorted(wanted)]
