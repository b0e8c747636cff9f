# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables as text: alignment, width, bounds."""

from __future__ import annotations

import pytest

from gdbext.render.numbers import address, amount, bytes_amount, percent, place
from gdbext.render.page import Column, Page, Table, plain_table


def table(*rows: tuple[str, str]) -> Table:
    made = Table("Title:", [Column("n", "right"), Column("name", flexible=True)])
    for row in rows:
        made.add(*row)
    return made


def test_columns_are_aligned_and_no_wider_than_needed() -> None:
    text = plain_table(table(("1", "a"), ("1,000", "longer")), None)

    assert text == "Title:\n      n  name\n      1  a\n  1,000  longer\n"


def test_flexible_column_is_shortened_in_its_middle() -> None:
    text = plain_table(table(("1", "beginning_of_a_long_name_with_an_end")), 30)

    lines = text.splitlines()
    assert max(map(len, lines)) == 30
    assert lines[-1].endswith("an_end")
    assert "beginning" in lines[-1]


def test_numbers_are_never_shortened() -> None:
    text = plain_table(table(("123,456,789", "x" * 40)), 20)

    assert "123,456,789" in text


def test_rows_left_out_are_counted() -> None:
    made = table(("1", "a"), ("2", "b"), ("3", "c"))
    made.how_to_see_more = "--top N shows more"

    text = plain_table(made.bound(1), None)

    assert text.endswith("  1  a\n  (2 more; --top N shows more)\n")


def test_no_escapes_without_colour() -> None:
    pieces: list[str] = []

    Page(pieces.append).table(table(("1", "a")))
    Page(pieces.append, colour=True).table(table(("1", "a")))

    assert "\x1b" not in pieces[0]
    assert "\x1b[1mTitle:" in pieces[1]


def test_table_without_rows_is_its_title() -> None:
    assert plain_table(table(), 80) == "Title:\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (address(0x3F4), "0x000003f4"),
        (address(0xFFFF_FFFF), "0xffffffff"),
        (address(1 << 32), "0x0000000100000000"),
        (amount(1234567), "1,234,567"),
        (bytes_amount(0), "0 bytes"),
        (bytes_amount(1023), "1023 bytes"),
        (bytes_amount(1536), "1.5 KiB"),
        (bytes_amount(3 << 30), "3.0 GiB"),
        (percent(1, 8), "12.5%"),
        (percent(0, 0), "-"),
        (place("/src/main.c", 12), "main.c:12"),
        (place("/src/main.c", None), "main.c"),
        (place(None, 5), ""),
    ],
)
def test_numbers_as_people_write_them(text: str, expected: str) -> None:
    assert text == expected
