# SPDX-License-Identifier: GPL-2.0-or-later
"""Modified condition/decision coverage (MC/DC) from the vectors that were executed.

Unique cause, with what short-circuit evaluation masks left aside: a condition is shown by two
evaluations in which it has different values, the outcomes differ, and every other condition that
was evaluated in both has the same value in both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdbext.coverage.decisions.expression import Path

__all__ = ["Pair", "find_pair", "is_pair", "missing_pairs"]


class Pair(NamedTuple):
    """Two paths, by number: the condition is true in the first, and false in the second."""

    true: int
    false: int


def is_pair(first: Path, second: Path, condition: int) -> bool:
    """Whether two evaluations show that the condition alone decides."""
    a, b = first.values, second.values
    if a[condition] is None or b[condition] is None or a[condition] == b[condition]:
        return False
    return first.outcome != second.outcome and all(
        x == y or x is None or y is None
        for at, (x, y) in enumerate(zip(a, b, strict=True))
        if at != condition
    )


def find_pair(paths: Sequence[Path], counts: Sequence[int], condition: int) -> Pair | None:
    """The first two executed paths that show a condition; None: there are none."""
    for pair in _pairs(paths, condition):
        if counts[pair.true] and counts[pair.false]:
            return pair
    return None


def missing_pairs(
    paths: Sequence[Path], counts: Sequence[int], condition: int, at_most: int
) -> list[Pair]:
    """Pairs that would show a condition; those first that need one more evaluation only."""
    pairs = _pairs(paths, condition)
    half: dict[int, Pair] = {}  # by the path that is missing
    for pair in pairs:
        if bool(counts[pair.true]) != bool(counts[pair.false]):
            half.setdefault(pair.false if counts[pair.true] else pair.true, pair)
    return (list(half.values()) or pairs)[:at_most]


def _pairs(paths: Sequence[Path], condition: int) -> list[Pair]:
    true = [n for n, path in enumerate(paths) if path.values[condition] is True]
    false = [n for n, path in enumerate(paths) if path.values[condition] is False]
    return [Pair(a, b) for a in true for b in false if is_pair(paths[a], paths[b], condition)]
