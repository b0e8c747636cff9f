# SPDX-License-Identifier: GPL-2.0-or-later
"""A page of text: lines and tables, fitted to a width, in colour only on a terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Column", "Page", "Style", "Table", "plain_table"]

Align = Literal["left", "right"]
Style = Literal["good", "bad", "doubtful", "dim"]

MIN_FLEXIBLE_WIDTH: Final = 12
_GAP: Final = "  "
_ESCAPES: Final[dict[Style, str]] = {
    "good": "\x1b[32m",
    "bad": "\x1b[31m",
    "doubtful": "\x1b[33m",
    "dim": "\x1b[2m",
}


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    title: str
    align: Align = "left"
    flexible: bool = False
    """May be shortened (in its middle) to fit the page."""


@dataclass
class Table:
    """Rows of text under column titles."""

    title: str
    columns: Sequence[Column]
    rows: list[Sequence[str]] = field(default_factory=list)
    more: int = 0
    """Rows left out; a line below the table says how many."""
    how_to_see_more: str = ""
    """What shows the rows left out, such as `--top N`."""

    def add(self, *cells: str) -> None:
        """Add a row; it has one cell for each column."""
        assert len(cells) == len(self.columns)
        self.rows.append(cells)

    def bound(self, limit: int | None) -> Table:
        """The table cut to `limit` rows, the rest counted in `more`."""
        if limit is not None and len(self.rows) > limit:
            self.more += len(self.rows) - limit
            del self.rows[limit:]
        return self


class Page:
    """Where commands print. `write` gets whole pieces of text, each ending in a newline.

    Args:
        write: takes the text.
        width: columns; None: as wide as it gets (piped output).
        height: rows of a screen, or None where there is no screen.
        colour: style table titles and heads with terminal escapes.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        width: int | None = None,
        height: int | None = None,
        colour: bool = False,
    ) -> None:
        self._write = write
        self.width = width
        self.height = height
        self.colour = colour

    def line(self, text: str = "") -> None:
        """Print one line; it is not shortened."""
        self._write(text + "\n")

    def text(self, text: str) -> None:
        """Print text as it is."""
        self._write(text)

    def styled(self, text: str, style: Style) -> str:
        """The text in a style, or as it is where there is no colour."""
        return f"{_ESCAPES[style]}{text}\x1b[0m" if self.colour and text else text

    def table(self, table: Table) -> None:
        """Print a table; nothing but its title if it has no rows."""
        self._write(plain_table(table, self.width, colour=self.colour))


def plain_table(table: Table, width: int | None, *, colour: bool = False) -> str:
    """The table as text: title, column titles, rows; columns aligned, none wider than it needs."""
    bold, dim, reset = ("\x1b[1m", "\x1b[2m", "\x1b[0m") if colour else ("", "", "")
    lines = [f"{bold}{table.title}{reset}"] if table.title else []
    if table.rows:
        widths = _widths(table, width)
        heads = [column.title for column in table.columns]
        if any(heads):
            lines.append(f"{dim}{_row(table, heads, widths)}{reset}")
        lines += [_row(table, row, widths) for row in table.rows]
    if table.more:
        how = f"; {table.how_to_see_more}" if table.how_to_see_more else ""
        lines.append(f"  ({table.more:,} more{how})")
    return "".join(f"{line}\n" for line in lines)


def _widths(table: Table, width: int | None) -> list[int]:
    widths = [
        max(len(column.title), *(len(row[index]) for row in table.rows))
        for index, column in enumerate(table.columns)
    ]
    if width is None:
        return widths
    excess = len(_GAP) * len(widths) + sum(widths) - width
    flexible = [index for index, column in enumerate(table.columns) if column.flexible]
    # The widest column gives first, so that short names stay whole.
    while excess > 0:
        candidates = [index for index in flexible if widths[index] > MIN_FLEXIBLE_WIDTH]
        if not candidates:
            break
        widest = max(candidates, key=lambda index: widths[index])
        widths[widest] -= 1
        excess -= 1
    return widths


def _row(table: Table, cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = []
    for column, cell, width in zip(table.columns, cells, widths, strict=True):
        text = _shortened(cell, width)
        padded.append(text.rjust(width) if column.align == "right" else text.ljust(width))
    return (_GAP + _GAP.join(padded)).rstrip()


def _shortened(text: str, width: int) -> str:
    """The text with `..` in its middle if it is too wide: both ends of a name or path tell."""
    if len(text) <= width:
        return text
    tail = (width - 2) // 2
    return text[: width - 2 - tail] + ".." + text[len(text) - tail :]
