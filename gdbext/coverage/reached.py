# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts laid over the instructions of a program, and what they prove."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gdbext.coverage.execution import Execution
    from gdbext.replay.conditions import Scan

__all__ = ["COVERED", "MISSED", "UNDECIDED", "Reached", "reach"]

MISSED: Final = 0
"""Not reached; of a call or return with a condition: never taken."""
COVERED: Final = 1
UNDECIDED: Final = 2
"""Reached, with a condition of its own that may have failed each time."""


@dataclass
class Reached:
    """All lists are parallel to the addresses of the code."""

    counts: list[int]
    """Times begun."""
    proven: list[int]
    """Times that it certainly took effect and shows that its line ran; -1: it was reached, but
    proves nothing, because it depends on a condition."""
    status: bytearray
    """MISSED, COVERED or UNDECIDED. A `select` is covered by being reached."""
    branches: list[int]
    """Places of conditional branches."""
    decisions: list[int]
    """Places of what decides without a branch."""

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
    insns = execution.insns
    counts = [insns.get(address, 0) for address in addresses]
    proven = list(counts)
    status = bytearray(bool(n) for n in counts)
    for place in _places(addresses, scan.effects):
        outcomes = execution.outcomes.get(addresses[place])
        proven[place] = outcomes.taken if outcomes else 0
        status[place] = bool(proven[place])
    for place in _places(addresses, scan.predicated):
        if counts[place]:
            proven[place] = -1
            status[place] = UNDECIDED
    for place in _places(addresses, scan.selects):
        if counts[place]:
            proven[place] = -1
    return Reached(
        counts,
        proven,
        status,
        _places(addresses, scan.branches),
        sorted(_places(addresses, scan.predicated) + _places(addresses, scan.selects)),
    )


def _places(addresses: list[int], wanted: set[int] | dict[int, int]) -> list[int]:
    return [bisect_left(addresses, address) for address in sorted(wanted)]
