# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways through decisions and MC/DC, against evaluation with all inputs."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from gdbext.coverage.decisions.expression import Path, graph_of, paths_of
from gdbext.coverage.decisions.mcdc import find_pair, is_pair, missing_pairs
from gdbext.coverage.decisions.source import find_decisions
from tests.support.random_decisions import RandomDecision, RandomDecisions, shown


def drawn() -> list[RandomDecision]:
    """Decisions of some seeds."""
    return [d for seed in range(5) for d in RandomDecisions.draw(seed, 24).decisions]


def paths_in(decision: RandomDecision) -> list[Path]:
    """All ways through it, as read from its source."""
    text = f"!({decision.text})" if decision.context == "not-if" else decision.text
    (ours,) = (
        d for d in find_decisions("a.c", decision.source().splitlines())[0] if d.text == text
    )
    paths = paths_of(graph_of(ours.expression), 1000)
    assert paths is not None
    return paths


@pytest.mark.parametrize("decision", drawn(), ids=lambda d: d.text)
def test_paths_are_what_all_inputs_come_to(decision: RandomDecision) -> None:
    paths = paths_in(decision)

    truth = {decision.evaluate(word) for word in range(1 << len(decision.forms))}
    assert {(path.values, path.outcome) for path in paths} == truth
    assert len(paths) == len(truth)


@pytest.mark.parametrize("decision", drawn(), ids=lambda d: d.text)
def test_a_pair_is_found_where_one_exists(decision: RandomDecision) -> None:
    paths = paths_in(decision)
    draw = Random(decision.number)
    counts = [draw.choice((0, 0, 1, 3)) for _ in paths]
    vectors = [(p.values, p.outcome) for p, n in zip(paths, counts, strict=True) if n]

    for condition in range(len(decision.forms)):
        pair = find_pair(paths, counts, condition)
        assert (pair is not None) == shown(vectors, condition)
        if pair is None:
            for missing in missing_pairs(paths, counts, condition, 9):
                assert is_pair(paths[missing.true], paths[missing.false], condition)
                assert not (counts[missing.true] and counts[missing.false])
        else:
            assert counts[pair.true]
            assert counts[pair.false]
            assert paths[pair.true].values[condition]


def test_too_many_ways_are_none() -> None:
    source = f"int f(void) {{ return {' && '.join(f'(a{n} || b{n})' for n in range(14))}; }}"
    (decision,) = find_decisions("a.c", [source])[0]

    assert paths_of(graph_of(decision.expression), 2048) is None


def test_masked_values_do_not_count_as_different() -> None:
    (decision,) = find_decisions("a.c", ["int f(void) { return (a && b) || c; }"])[0]
    paths = paths_of(graph_of(decision.expression), 100)
    assert paths is not None

    by_letters = {
        "".join("-" if v is None else "FT"[v] for v in path.values): path for path in paths
    }

    assert set(by_letters) == {"TT-", "TFT", "TFF", "F-T", "F-F"}
    assert is_pair(by_letters["TT-"], by_letters["F-F"], 0)
    assert is_pair(by_letters["TFT"], by_letters["TFF"], 2)
    assert not is_pair(by_letters["TFT"], by_letters["F-F"], 2)
    assert sum(1 for a, b in product(paths, paths) if is_pair(a, b, 1)) == 2
