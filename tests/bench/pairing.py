# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs that take turns, and what their numbers say: medians of the ratios of each round."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Spread", "differences", "ratios", "take_turns"]

T = TypeVar("T")


@dataclass(frozen=True)
class Spread:
    """Median and range of some measured numbers."""

    median: float
    low: float
    high: float
    n: int
    """How many numbers."""

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of at least one number."""
        numbers = sorted(values)
        return cls(statistics.median(numbers), numbers[0], numbers[-1], len(numbers))


def take_turns(
    variants: Mapping[str, Callable[[], T]],
    rounds: int,
    *,
    warm_up: int = 0,
    say: Callable[[str], None] = lambda text: None,
) -> list[dict[str, T]]:
    """Run each variant once a round, and return each round's results by variant.

    Every second round goes backwards (A B C, C B A, A B C, ..): what changes steadily, such as the
    temperature, then favours none of them.

    Args:
        warm_up: rounds before, whose results are dropped.
        say: told what runs.
    """
    results: list[dict[str, T]] = []
    names = list(variants)
    for number in range(-warm_up, rounds):
        result: dict[str, T] = {}
        for name in names if number % 2 == 0 else reversed(names):
            which = f"round {number + 1} of {rounds}" if number >= 0 else "warm-up"
            say(f"{which}: {name}")
            result[name] = variants[name]()
        if number >= 0:
            results.append(result)
    return results


def ratios(
    rounds: Sequence[Mapping[str, T]], over: str, under: str, number: Callable[[T], float]
) -> list[float]:
    """`number` of variant `over` divided by that of `under`, for each round."""
    return [number(result[over]) / number(result[under]) for result in rounds]


def differences(
    rounds: Sequence[Mapping[str, T]], of: str, less: str, number: Callable[[T], float]
) -> list[float]:
    """`number` of variant `of` less that of `less`, for each round."""
    return [number(result[of]) - number(result[less]) for result in rounds]
