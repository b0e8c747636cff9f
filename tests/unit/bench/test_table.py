# SPDX-License-Identifier: GPL-2.0-or-later
"""Marks, and the three forms of the table."""

from __future__ import annotations

import pytest

from tests.bench.pairing import Spread
from tests.bench.table import INSNS_PER_S, RATIO, Row, as_json, in_order, markdown, text

RATIO_ROW = Row("recording", "QEMU 1.2.3 (v1)", RATIO, Spread(1.5, 1.25, 1.75, 3), 1.65, 1.3, "so")
FREE_ROW = Row("log", "QEMU 1.2.3 (v1)", RATIO, Spread(400.4, 400.4, 400.4, 1))


@pytest.mark.parametrize(
    ("median", "mark"), [(1.0, "aim"), (1.3, "aim"), (1.31, "ok"), (1.65, "ok"), (1.651, "MISSED")]
)
def test_less_is_better_for_a_ratio(median: float, mark: str) -> None:
    assert Row("", "", RATIO, Spread(median, 0, 9, 3), 1.65, 1.3).mark == mark


@pytest.mark.parametrize(
    ("median", "mark"), [(2e9, "aim"), (1.5e9, "aim"), (1e9, "ok"), (0.7e9, "ok"), (6e8, "MISSED")]
)
def test_more_is_better_for_a_speed(median: float, mark: str) -> None:
    assert Row("", "", INSNS_PER_S, Spread(median, 0, 9, 3), 0.7e9, 1.5e9).mark == mark


def test_rows_without_limits_have_no_mark() -> None:
    assert FREE_ROW.mark == ""


def test_text_has_a_row_for_each() -> None:
    lines = [" ".join(line.split()) for line in text([RATIO_ROW, FREE_ROW]).splitlines()]

    assert lines == [
        "measured with median min - max n must aim note",
        "recording QEMU 1.2.3 (v1) 1.50 1.25 - 1.75 3 1.65 1.30 ok so",
        "log QEMU 1.2.3 (v1) 400 1",
    ]


def test_markdown_has_a_cell_for_each_column() -> None:
    lines = markdown([RATIO_ROW, FREE_ROW]).splitlines()

    assert len(lines) == 4
    assert {line.count("|") for line in lines} == {10}
    assert lines[2] == (
        "| recording | QEMU 1.2.3 (v1) | 1.50 | 1.25 - 1.75 | 3 | 1.65 | 1.30 | ok | so |"
    )


def test_json_keeps_the_numbers_as_measured() -> None:
    made = as_json([RATIO_ROW], {"cores": 2})

    assert made["machine"] == {"cores": 2}
    assert made["rows"] == [
        {
            "what": "recording",
            "where": "QEMU 1.2.3 (v1)",
            "unit": "ratio",
            "median": 1.5,
            "low": 1.25,
            "high": 1.75,
            "n": 3,
            "must": 1.65,
            "aim": 1.3,
            "mark": "ok",
            "note": "so",
        }
    ]


def test_rows_of_one_kind_come_together_in_order_of_appearance() -> None:
    rows = [Row(what, where, RATIO, FREE_ROW.spread) for what, where in ("b1", "a1", "b2", "a2")]

    assert [row.what + row.where for row in in_order(rows)] == ["b1", "b2", "a1", "a2"]
