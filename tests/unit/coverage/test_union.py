# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage of several builds, united by source line."""

from __future__ import annotations

import pytest

from gdbext.coverage.model import (
    Branch,
    Coverage,
    FileCoverage,
    FunctionCoverage,
    Line,
    Ratio,
    State,
    Totals,
)
from gdbext.coverage.union import function_keys, united


def line(number: int, count: int | None, state: State, excluded: str | None = None) -> Line:
    """A line of one instruction."""
    covered = int(state in ("covered", "partial"))
    return Line(number, count, Ratio(covered, 1), state, excluded=excluded)


def function(name: str, address: int, count: int) -> FunctionCoverage:
    """A function of two instructions."""
    insns = Ratio(2 if count else 0, 2)
    return FunctionCoverage(name, address, 1, count, insns, Ratio(0, 0), covered=count > 0)


def build(*lines: Line, functions: tuple[FunctionCoverage, ...] = ()) -> Coverage:
    """One file."""
    branch = Branch(
        address=0x10, line=1, column=0, target=0, size=2, executed=1, taken=1, not_taken=0
    )
    totals = Totals(
        insns=Ratio(sum(each.covered for each in lines), len(lines)), branches=Ratio(1, 2)
    )
    file = FileCoverage("/a.c", lines, functions, (branch,), (), totals)
    return Coverage((file,), totals)


@pytest.mark.parametrize(
    ("first", "second", "count", "state"),
    [
        ((0, "uncovered"), (3, "covered"), 3, "covered"),
        ((2, "partial"), (3, "partial"), 5, "partial"),
        ((2, "partial"), (3, "covered"), 5, "covered"),
        ((None, "undecided"), (0, "uncovered"), None, "undecided"),
        ((None, "undecided"), (4, "covered"), 4, "covered"),
        ((0, "uncovered"), (0, "uncovered"), 0, "uncovered"),
    ],
)
def test_line_is_the_best_of_its_builds(
    first: tuple[int | None, State], second: tuple[int | None, State], count: int, state: State
) -> None:
    whole = united([build(line(1, *first)), build(line(1, *second))])

    (found,) = whole.files[0].lines
    assert (found.count, found.state) == (count, state)
    assert whole.totals.lines == Ratio(int(state in ("covered", "partial")), 1)
    assert whole.totals.partial_lines == int(state == "partial")
    assert whole.totals.undecided_lines == int(state == "undecided")


def test_lines_of_either_build_are_there_once_and_branches_add_up() -> None:
    whole = united(
        [
            build(line(1, 1, "covered"), line(2, 0, "uncovered")),
            build(line(2, 0, "uncovered"), line(7, 5, "covered")),
        ]
    )

    assert [each.line for each in whole.files[0].lines] == [1, 2, 7]
    assert whole.totals.lines == Ratio(2, 3)
    assert whole.totals.branches == Ratio(2, 4)
    assert whole.totals.insns == Ratio(2, 4)


def test_functions_are_one_by_name_and_place_among_that_name() -> None:
    whole = united(
        [
            build(functions=(function("copy", 0x10, 0), function("copy", 0x20, 2))),
            build(functions=(function("copy", 0x40, 3), function("other", 0x50, 0))),
        ]
    )

    file = whole.files[0]
    assert function_keys(file) == [("copy", 1), ("copy", 2), ("other", 1)]
    assert [each.count for each in file.functions] == [3, 2, 0]
    assert whole.totals.functions == Ratio(2, 3)


def test_what_one_build_excludes_is_excluded() -> None:
    whole = united([build(line(1, 0, "uncovered")), build(line(1, 1, "covered", excluded="why"))])

    assert whole.totals.lines == Ratio(0, 0)
    assert whole.excluded.lines == Ratio(1, 1)


def test_one_build_is_itself() -> None:
    only = build(line(1, 1, "covered"))

    assert united([only]) is only
