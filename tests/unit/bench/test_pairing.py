# SPDX-License-Identifier: GPL-2.0-or-later
"""Taking turns, and what is made of the numbers."""

from __future__ import annotations

import pytest

from tests.bench.pairing import Spread, differences, ratios, take_turns


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2.0], Spread(2.0, 2.0, 2.0, 1)),
        ([3.0, 1.0, 10.0], Spread(3.0, 1.0, 10.0, 3)),
        ([4.0, 1.0, 2.0, 3.0], Spread(2.5, 1.0, 4.0, 4)),
    ],
)
def test_spread_is_median_and_range(values: list[float], expected: Spread) -> None:
    assert Spread.of(values) == expected


def test_every_second_round_goes_backwards() -> None:
    order: list[str] = []

    results = take_turns(
        {name: lambda name=name: order.append(name) for name in "abc"},  # type: ignore[misc]
        3,
    )

    assert "".join(order) == "abccbaabc"
    assert len(results) == 3
    assert all(result.keys() == {"a", "b", "c"} for result in results)


def test_warm_up_runs_but_does_not_count() -> None:
    calls = iter(range(100))
    said: list[str] = []

    results = take_turns({"a": lambda: next(calls)}, 2, warm_up=3, say=said.append)

    assert results == [{"a": 3}, {"a": 4}]
    assert said == ["warm-up: a"] * 3 + ["round 1 of 2: a", "round 2 of 2: a"]


def test_ratio_is_of_the_same_round() -> None:
    rounds = [{"a": 1.0, "b": 2.0}, {"a": 10.0, "b": 15.0}]

    assert ratios(rounds, "b", "a", float) == [2.0, 1.5]
    assert differences(rounds, "b", "a", float) == [1.0, 5.0]
