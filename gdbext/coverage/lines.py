# SPDX-License-Identifier: GPL-2.0-or-later
"""Source lines from pieces of code: how often a line ran, and whether all of it did.

A line ran as often as its most executed instruction; of several copies of a line (inlined code,
templates, functions of a header) the counts add up. Where a line has statement starts (`is_stmt`
rows), only they count for it: an optimising compiler moves parts of a line to where others run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gdbext.coverage.model import Copy, Line, Ratio, State, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdbext.coverage.code import Code
    from gdbext.coverage.reached import Reached
    from gdbext.symbols import Symbols

__all__ = ["Piece", "measure_line"]


class Piece(NamedTuple):
    """Instructions [first, end) of one line row, as places; `own` is the first that no row before
    it has claimed: rows overlap where several functions were folded into one."""

    first: int
    own: int
    end: int
    column: int
    is_stmt: bool


_UNDECIDED = -1
"""Stands for a count that is not known, below all that are."""


def measure_line(
    symbols: Symbols,
    code: Code,
    reached: Reached,
    number: int,
    pieces: Sequence[Piece],
    excluded: str | None,
) -> Line:
    """One line of a file.

    Args:
        pieces: all of its code.
        excluded: the reason.
    """
    statements = [piece for piece in pieces if piece.is_stmt] or pieces
    copies: tuple[Copy, ...] = ()
    units: tuple[Unit, ...] = ()
    if len(statements) == 1:
        piece = statements[0]
        count = _count(reached.proven[piece.first : piece.end])
    else:
        by_copy: dict[int, int] = {}  # number of the copy: count
        places: dict[int, int] = {}  # and its first instruction
        by_unit: dict[tuple[int, int], int] = {}  # the same by column and copy
        for piece in statements:
            copy = code.copies[piece.first]
            own = _count(reached.proven[piece.first : piece.end])
            unit = piece.column, copy
            if copy in by_copy:
                by_copy[copy] = _both(by_copy[copy], own)
                by_unit[unit] = _both(by_unit.get(unit, 0), own)
            else:
                places[copy] = piece.first
                by_copy[copy] = by_unit[unit] = own
        count = _added(by_copy.values())
        if len(by_copy) > 1:
            copies = tuple(
                _copy(symbols, code.addresses[places[copy]], copy, n) for copy, n in by_copy.items()
            )
        by_column: dict[int, list[int]] = {}
        for (column, _), n in by_unit.items():
            by_column.setdefault(column, []).append(n)
        if len(by_column) > 1:
            units = tuple(
                Unit(column, _known(_added(by_column[column]))) for column in sorted(by_column)
            )
    covered = undecided = total = 0
    for first, _, end, _, _ in pieces:
        covered += reached.covered_before[end] - reached.covered_before[first]
        undecided += reached.undecided_before[end] - reached.undecided_before[first]
        total += end - first
    return Line(
        line=number,
        count=_known(count),
        insns=Ratio(covered, total),
        state=_state(count, covered + undecided < total),
        units=units,
        copies=copies,
        excluded=excluded,
    )


def _state(count: int, missed: bool) -> State:
    if count == _UNDECIDED:
        return "undecided"
    if not count:
        return "uncovered"
    return "partial" if missed else "covered"


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
        if count == _UNDECIDED:
            undecided = True
        else:
            total += count
    return total or (_UNDECIDED if undecided else 0)


def _known(count: int) -> int | None:
    return None if count == _UNDECIDED else count


def _copy(symbols: Symbols, address: int, copy: int, count: int) -> Copy:
    function = symbols.function_at(address)
    name = function.name if function is not None else ""
    return Copy(address, name, copy in symbols.sources.inlinings, _known(count))
