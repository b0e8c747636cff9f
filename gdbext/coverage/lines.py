# SPDX-License-Identifier: GPL-2.0-or-later
"""Source lines as the model has them: counts, with the parts of a line and its copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gdbext.coverage.linecounts import STATES
from gdbext.coverage.model import Copy, Line, Ratio, Unit
from gdbext.coverage.reached import UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdbext.coverage.layout import Layout
    from gdbext.coverage.reached import Reached
    from gdbext.symbols import Symbols

__all__ = ["measured_line"]


def measured_line(
    symbols: Symbols, layout: Layout, reached: Reached, index: int, row: Any, excluded: str | None
) -> Line:
    """One line of the layout.

    Args:
        row: its CLineRow.
        excluded: the reason.
    """
    copies: tuple[Copy, ...] = ()
    units: tuple[Unit, ...] = ()
    if layout.line_from[index + 1] - layout.line_from[index] > 1:
        units, copies = _parts(symbols, layout, reached, index)
    return Line(
        line=layout.line_number[index],
        count=_known(row.count),
        insns=Ratio(row.covered, row.total),
        state=STATES[row.state],
        units=units,
        copies=copies,
        excluded=excluded,
    )


def _parts(
    symbols: Symbols, layout: Layout, reached: Reached, index: int
) -> tuple[tuple[Unit, ...], tuple[Copy, ...]]:
    """By column and by copy, where there are several."""
    by_copy: dict[int, int] = {}  # number of the copy: count
    places: dict[int, int] = {}  # and its first instruction
    by_unit: dict[tuple[int, int], int] = {}  # the same by column and copy
    for first, _, end, column, tells in layout.pieces(index):
        if not tells:
            continue
        copy = layout.copies[first]
        own = _count(reached.proven[first:end])
        unit = column, copy
        if copy in by_copy:
            by_copy[copy] = _both(by_copy[copy], own)
            by_unit[unit] = _both(by_unit.get(unit, 0), own)
        else:
            places[copy] = first
            by_copy[copy] = by_unit[unit] = own
    copies: tuple[Copy, ...] = ()
    if len(by_copy) > 1:
        copies = tuple(
            _copy(symbols, layout.addresses[places[copy]], copy, n) for copy, n in by_copy.items()
        )
    by_column: dict[int, list[int]] = {}
    for (column, _), n in by_unit.items():
        by_column.setdefault(column, []).append(n)
    if len(by_column) < 2:
        return (), copies
    columns = sorted(by_column)
    return tuple(Unit(column, _known(_added(by_column[column]))) for column in columns), copies


def _count(proven: Sequence[int]) -> int:
    """Of the most executed instruction; undecided if some were reached that prove nothing."""
    return max(proven) or min(proven)


def _both(first: int, second: int) -> int:
    """Of two pieces of one copy."""
    return max(first, second) or min(first, second)


def _added(counts: Iterable[int]) -> int:
    """Of several copies: those that are known; undecided if the others did not run."""
    total = 0
    undecided = False
    for count in counts:
        if count == UNDECIDED:
            undecided = True
        else:
            total += count
    return total or (UNDECIDED if undecided else 0)


def _known(count: int) -> int | None:
    return None if count == UNDECIDED else count


def _copy(symbols: Symbols, address: int, copy: int, count: int) -> Copy:
    function = symbols.function_at(address)
    name = function.name if function is not None else ""
    return Copy(address, name, bool(copy & 1), _known(count))
