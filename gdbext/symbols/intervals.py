# SPDX-License-Identifier: GPL-2.0-or-later
"""Which of many half-open ranges cover an address, innermost first."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Intervals:
    """Ranges [start, end), sorted by start, that may nest and overlap.

    Each range knows the latest earlier one that reaches beyond its start, so a look-up goes back
    only through ranges that can cover the address.
    """

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        pairs = list(ranges)
        assert pairs == sorted(pairs, key=lambda pair: pair[0])
        self.starts = [start for start, _ in pairs]
        self.ends = [end for _, end in pairs]
        self._outer: list[int] = []
        for index, start in enumerate(self.starts):
            outer = index - 1
            while outer >= 0 and self.ends[outer] <= start:
                outer = self._outer[outer]
            self._outer.append(outer)

    def __len__(self) -> int:
        return len(self.starts)

    def covering(self, address: int) -> Iterator[int]:
        """Yield the indices of the ranges that hold `address`, latest start first."""
        index = bisect_right(self.starts, address) - 1
        while index >= 0:
            if address < self.ends[index]:
                yield index
            index = self._outer[index]

    def first(self, address: int) -> int | None:
        """The index of the innermost range that holds `address`, or None."""
        return next(self.covering(address), None)
