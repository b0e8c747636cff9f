# SPDX-License-Identifier: GPL-2.0-or-later
"""Source lines from pieces of code: how often a line ran, and whether all of it did.

A line ran as often as its most executed instruction; of several copies of a line (inlined code,
templates, functions of a header) the counts add up. Where a line has statement starts (`is_stmt`
rows), only they count for it: an optimising compiler moves parts of a line to where others run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gdbext.coverage.model import Copy, Line, Ratio, State, Unit
from gdbext.coverage.reached import COVERED, MISSED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gdbext.coverage.reached import Reached
    from gdbext.symbols import Symbols

__all__ = ["Piece", "measure_lines"]


class Piece(NamedTuple):
    """Instructions [first, end) of one line row, as places; `own` is the first that no row before
    it has claimed: rows overlap where several functions were folded into one."""

    first: int
    own: int
    end: int
    column: int
    is_stmt: bool


def measure_lines(
    symbols: Symbols,
    addresses: Sequence[int],
    reached: Reached,
    pieces_by_line: Mapping[int, Sequence[Piece]],
) -> Iterator[Line]:
    """Yield the lines of one file in order; line 0 is none."""
    for number in sorted(pieces_by_line):
        if number:
            yield _line(symbols, addresses, reached, number, pieces_by_line[number])


def _line(
    symbols: Symbols,
    addresses: Sequence[int],
    reached: Reached,
    number: int,
    pieces: Sequence[Piece],
) -> Line:
    status = reached.status
    insns = Ratio(
        sum(status.count(COVERED, piece.first, piece.end) for piece in pieces),
        sum(piece.end - piece.first for piece in pieces),
    )
    statements = [piece for piece in pieces if piece.is_stmt] or pieces
    copies: tuple[Copy, ...] = ()
    by_copy: dict[object, list[Piece]] = {None: list(statements)}
    if len(statements) > 1:
        by_copy = _by_copy(symbols, addresses, statements)
        if len(by_copy) > 1:
            copies = tuple(
                _copy(symbols, addresses[own[0].first], _count(reached, own))
                for own in by_copy.values()
            )
    count = _added([_count(reached, own) for own in by_copy.values()])
    missed = any(MISSED in status[piece.first : piece.end] for piece in pieces)
    return Line(
        line=number,
        count=count,
        insns=insns,
        state=_state(count, missed),
        units=_units(reached, by_copy),
        copies=copies,
    )


def _state(count: int | None, missed: bool) -> State:
    if count is None:
        return "undecided"
    if not count:
        return "uncovered"
    return "partial" if missed else "covered"


def _by_copy(
    symbols: Symbols, addresses: Sequence[int], pieces: Sequence[Piece]
) -> dict[object, list[Piece]]:
    found: dict[object, list[Piece]] = {}
    for piece in pieces:
        address = addresses[piece.first]
        key: object = symbols.sources.copy_at(address)
        if key is None:
            function = symbols.function_at(address)
            key = function.address if function is not None else None
        found.setdefault(key, []).append(piece)
    return found


def _copy(symbols: Symbols, address: int, count: int | None) -> Copy:
    function = symbols.function_at(address)
    where = symbols.sources.copy_at(address)
    name = function.name if function is not None else ""
    return Copy(address, name, bool(where and where[1]), count)


def _count(reached: Reached, pieces: Sequence[Piece]) -> int | None:
    """Of pieces of one copy; None: reached, but nothing proves that it took effect."""
    most = 0
    undecided = False
    for piece in pieces:
        proven = reached.proven[piece.first : piece.end]
        most = max(most, *proven)
        undecided = undecided or -1 in proven
    return most or (None if undecided else 0)


def _added(counts: Sequence[int | None]) -> int | None:
    """Of copies: those that are known; None if there are only undecided and unreached ones."""
    total = sum(count or 0 for count in counts)
    return total or (None if None in counts else 0)


def _units(reached: Reached, by_copy: Mapping[object, Sequence[Piece]]) -> tuple[Unit, ...]:
    columns = sorted({piece.column for pieces in by_copy.values() for piece in pieces})
    if len(columns) < 2:
        return ()
    return tuple(
        Unit(
            column,
            _added(
                [
                    _count(reached, [piece for piece in pieces if piece.column == column])
                    for pieces in by_copy.values()
                ]
            ),
        )
        for column in columns
    )
