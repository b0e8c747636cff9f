# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts: kept and read again, files united, counts of lines."""

from __future__ import annotations

from array import array

from gdbext.coverage.execution import Execution, Outcomes
from gdbext.coverage.layout import Layout, Piece, PlacedFunction, lay_lines
from gdbext.coverage.linecounts import STATES, line_counts
from gdbext.coverage.reached import reach


def layout() -> Layout:
    """Ten instructions: two of `a.c` and its inlined copy in `b.c`, the last an A32 condition."""
    laid = Layout(
        files=["", "/src/a.c", "/src/b.c"],
        addresses=array("Q", range(100, 140, 4)),
        sizes=b"\4" * 10,
        copies=array("q", [-2] * 4 + [7] * 3 + [-4] * 3),
        branches=array("I", [3]),
        targets=array("Q", [100]),
        predicated=array("I", [9]),
        low=array("Q", [100]),
        high=array("Q", [140]),
    )
    laid.add_function(PlacedFunction(100, 1, 1, ((0, 4),)))
    laid.add_function(PlacedFunction(116, 2, 5, ((4, 10),)))
    a = {1: [Piece(0, 0, 2, 3, True), Piece(4, 4, 7, 3, True)], 2: [Piece(2, 2, 4, 0, False)]}
    b = {0: [Piece(7, 7, 8, 0, False)], 5: [Piece(8, 8, 9, 0, True)], 6: [Piece(9, 9, 10, 0, True)]}
    lay_lines(laid, [{}, a, b])
    return laid


def test_what_is_kept_is_read_again() -> None:
    kept = layout().to_bytes()

    assert Layout.from_bytes(kept) == layout()


def test_kept_by_another_version_or_machine_is_not_read() -> None:
    kept = layout().to_bytes()

    assert Layout.from_bytes(kept.replace(b'"layout": ', b'"layout": 9', 1)) is None
    assert Layout.from_bytes(kept.replace(b'"order": "', b'"order": "un', 1)) is None


def test_files_of_one_name_become_one() -> None:
    united = layout().with_files(["", "/here/x.c", "/here/x.c"])

    assert united.files == ["", "/here/x.c"]
    assert list(united.line_number) == [0, 1, 2, 5, 6]
    assert {function.file for function in united.functions()} == {1}
    assert united.pieces(1) == layout().pieces(0)


def test_counts_of_lines_are_of_their_most_executed_instruction_and_copies_add_up() -> None:
    laid = layout()
    ran = {100: 5, 104: 4, 108: 5, 116: 2, 120: 2, 124: 2, 136: 3}
    execution = Execution(ran, {112: Outcomes(1, 0)})

    rows = line_counts(laid, reach(laid, execution))

    found = [
        (number, row.count, STATES[row.state])
        for number, row in zip(laid.line_number, rows, strict=True)
    ]
    assert found == [
        (1, 7, "covered"),
        (2, 5, "partial"),
        (0, 0, "uncovered"),
        (5, 0, "uncovered"),
        (6, -1, "undecided"),
    ]
    assert [(row.own_covered, row.own_total, row.own_outcomes) for row in rows] == [
        (5, 5, 0),
        (1, 2, 1),
        (0, 1, 0),
        (0, 1, 0),
        (0, 1, 0),
    ]
