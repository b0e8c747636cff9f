# SPDX-License-Identifier: GPL-2.0-or-later
"""Source lines and inline chains of addresses, from the compile units that hold them."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from gdbext.symbols.intervals import Intervals
from gdbext.symbols.model import InlineFrame, LineRow, SourceLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gdbext.symbols.dwarf import Inlined, Subprogram, Unit, UnitDetail
    from gdbext.symbols.lines import Row


class Sources:
    """Answers from debug information; a unit is decoded at the first question about it."""

    def __init__(self, units: list[Unit], load: Callable[[int], UnitDetail]) -> None:
        """`load` decodes the unit with a number in `units`."""
        self.units = units
        self._load = load
        self._details: dict[int, UnitDetail] = {}
        placed = [(low, high, n) for n, unit in enumerate(units) for low, high in unit.ranges]
        for number, unit in enumerate(units):
            if not unit.ranges:  # old assemblers give no range: take it from the line rows
                rows = self.detail(number).rows
                placed += [(row.start, row.end, number) for row in rows]
        placed.sort()
        self._owners = [number for _, _, number in placed]
        self._places = Intervals((low, high) for low, high, _ in placed)

    def detail(self, number: int) -> UnitDetail:
        """The decoded unit with that number."""
        detail = self._details.get(number)
        if detail is None:
            detail = self._details[number] = self._load(number)
        return detail

    def line_at(self, address: int) -> SourceLine | None:
        """The source line of an address; None where the compiler gave none."""
        found = self._row(address)
        if found is None or not found[1].line:
            return None
        detail, row = found
        return SourceLine(_file(detail, row.file) or "?", row.line, row.column)

    def inlined_at(self, address: int) -> tuple[InlineFrame, ...]:
        """The inline chain, innermost first, without the function that everything is inlined in."""
        found = self._row(address)
        if found is None:
            return ()
        detail, row = found
        chain = _inlined(detail.inlined, address)
        if not chain:
            return ()
        file, line = _file(detail, row.file), row.line or None
        frames = []
        for entry in chain:
            frames.append(InlineFrame(entry.name, file, line))
            file, line = _file(detail, entry.call_file), entry.call_line or None
        outer = next((s.name for s in detail.subprograms if s.start <= address < s.end), "")
        frames.append(InlineFrame(outer, file, line))
        return tuple(frames)

    def rows(self, start: int, end: int) -> list[LineRow]:
        """Line rows that touch [start, end), cut to it, by address."""
        found = []
        for number in self._units_of(start, end):
            detail = self.detail(number)
            first = max(bisect_right(detail.rows, start, key=lambda row: row.start) - 1, 0)
            for row in detail.rows[first:]:
                if row.start >= end:
                    break
                if row.end > start:
                    low, high = max(row.start, start), min(row.end, end)
                    name = _file(detail, row.file) or "?"
                    found.append(LineRow(low, high, name, row.line, row.column, row.is_stmt))
        return sorted(set(found))

    def subprograms(self, numbers: list[int]) -> Iterator[Subprogram]:
        """The functions that the DIEs of these units describe."""
        for number in numbers:
            yield from self.detail(number).subprograms

    def _units_of(self, start: int, end: int) -> list[int]:
        numbers = dict.fromkeys(self._owners[i] for i in self._places.covering(start))
        for index in range(bisect_right(self._places.starts, start), len(self._places)):
            if self._places.starts[index] >= end:
                break
            numbers[self._owners[index]] = None
        return list(numbers)

    def _row(self, address: int) -> tuple[UnitDetail, Row] | None:
        tried = set()
        for index in self._places.covering(address):
            number = self._owners[index]
            if number in tried:
                continue
            tried.add(number)
            detail = self.detail(number)
            at = bisect_right(detail.rows, address, key=lambda row: row.start) - 1
            if at >= 0 and address < detail.rows[at].end:
                return detail, detail.rows[at]
        return None


def _inlined(entries: list[Inlined], address: int) -> list[Inlined]:
    chain = [e for e in entries if e.start <= address < e.end]
    return sorted(chain, key=lambda e: -e.depth)


def _file(detail: UnitDetail, number: int) -> str | None:
    return detail.files[number] if 0 <= number < len(detail.files) else None
