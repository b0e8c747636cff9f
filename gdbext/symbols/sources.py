# SPDX-License-Identifier: GPL-2.0-or-later
"""Source lines and inline chains of addresses, from the compile units that hold them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gdbext.symbols.intervals import Intervals
from gdbext.symbols.model import InlineFrame, LineRow, SourceLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gdbext.symbols.dwarf import Inlined, Unit, UnitCode, UnitLines
    from gdbext.symbols.lines import Row


class DebugReader(Protocol):
    """Where compile units come from: the ELF file, or a cache before it."""

    @property
    def notes(self) -> list[str]: ...
    def units(self) -> list[Unit]: ...
    def lines(self, unit: Unit) -> UnitLines: ...
    def code(self, unit: Unit) -> UnitCode: ...


class Sources:
    """Answers from debug information; a unit is decoded at the first question about it."""

    def __init__(self, reader: DebugReader) -> None:
        self._reader = reader
        self.units = reader.units()
        self._lines: dict[int, UnitLines] = {}
        self._code: dict[int, UnitCode] = {}
        self._inlined: dict[int, Intervals] = {}
        placed = [(low, high, n) for n, unit in enumerate(self.units) for low, high in unit.ranges]
        for number, unit in enumerate(self.units):
            if not unit.placed:
                rows = self.lines(number).rows
                placed += [(row.start, row.end, number) for row in rows]
        placed.sort()
        self._owners = [number for _, _, number in placed]
        self._places = Intervals((low, high) for low, high, _ in placed)

    def lines(self, number: int) -> UnitLines:
        """The line rows of the unit with that number in `units`."""
        lines = self._lines.get(number)
        if lines is None:
            lines = self._lines[number] = self._reader.lines(self.units[number])
        return lines

    def code(self, number: int) -> UnitCode:
        """The functions and inlined code of the unit with that number in `units`."""
        code = self._code.get(number)
        if code is None:
            code = self._code[number] = self._reader.code(self.units[number])
        return code

    def line_at(self, address: int) -> SourceLine | None:
        """The source line of an address; None where the compiler gave none."""
        found = self._row(address)
        if found is None or not found[1].line:
            return None
        number, row = found
        return SourceLine(_file(self.lines(number), row.file) or "?", row.line, row.column)

    def unit_at(self, address: int) -> Unit | None:
        """The compile unit that holds an address."""
        found = self._row(address)
        return None if found is None else self.units[found[0]]

    def inlined_at(self, address: int) -> tuple[InlineFrame, ...]:
        """The inline chain, innermost first, without the function that everything is inlined in."""
        found = self._row(address)
        if found is None:
            return ()
        number, row = found
        lines, code = self.lines(number), self.code(number)
        chain = self._chain(number, address)
        if not chain:
            return ()
        file, line = _file(lines, row.file), row.line or None
        frames = []
        for entry in chain:
            frames.append(InlineFrame(entry.name, file, line))
            file, line = _file(lines, entry.call_file), entry.call_line or None
        outer = next((s.name for s in code.subprograms if s.start <= address < s.end), "")
        frames.append(InlineFrame(outer, file, line))
        return tuple(frames)

    def declared(self, address: int, name: str) -> SourceLine | None:
        """Where the source declares the function that is entered at an address.

        Args:
            name: raw; where several functions were folded into one, that of this name first.
        """
        found: SourceLine | None = None
        for number in dict.fromkeys(self._owners[i] for i in self._places.covering(address)):
            code, lines, unit = self.code(number), self.lines(number), self.units[number]
            row = self._row(address)
            holder = _file(self.lines(row[0]), row[1].file) if row is not None else None
            files = {holder, unit.name, f"{unit.directory.rstrip('/')}/{unit.name}"} - {None}
            first = bisect_left(code.subprograms, address, key=lambda body: body.start)
            for body in code.subprograms[first:]:
                if body.start != address:
                    break
                file = _file(lines, body.decl_file) if body.decl_file else None
                if body.part == 0 and file in files and body.decl_line:
                    where = SourceLine(file or "", body.decl_line, 0)
                    if body.name == name:
                        return where
                    found = found or where
        return found

    def rows(self, start: int, end: int) -> list[LineRow]:
        """Line rows that touch [start, end), cut to it, by address."""
        found = []
        for number in self._units_of(start, end):
            lines = self.lines(number)
            first = max(bisect_right(lines.rows, start, key=lambda row: row.start) - 1, 0)
            for row in lines.rows[first:]:
                if row.start >= end:
                    break
                if row.end > start:
                    low, high = max(row.start, start), min(row.end, end)
                    name = _file(lines, row.file) or "?"
                    found.append(LineRow(low, high, name, row.line, row.column, row.is_stmt))
        return sorted(set(found))

    def all_rows(self) -> list[LineRow]:
        """All line rows by address; those of one address in the order of their units."""
        found: list[LineRow] = []
        for number in range(len(self.units)):
            lines = self.lines(number)
            names = [name or "?" for name in lines.files]
            known = range(len(names))
            found += [
                LineRow(start, end, names[file] if file in known else "?", line, column, is_stmt)
                for start, end, file, line, column, is_stmt in lines.rows
            ]
        found.sort(key=lambda row: row.start)
        return found

    def has_lines(self) -> bool:
        """Whether any code has a source line."""
        return any(self.lines(number).rows for number in range(len(self.units)))

    def copies(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the code of functions and inlinings in [start, end), inner after outer.

        Each is a half-open range and a number: all code of one function or inlining has the same,
        an inlining's is odd, a function's even.
        """
        for number in self._units_of(start, end):
            code = self.code(number)
            for body in code.subprograms:
                if body.start < end and start < body.end:
                    yield body.start, body.end, 2 * body.die
            for inlined in code.inlined:
                if inlined.start < end and start < inlined.end:
                    yield inlined.start, inlined.end, 2 * inlined.die + 1

    def parts(self, function: int | None = None) -> dict[int, int]:
        """Code that compilers moved out of functions: its address, and the function's.

        Args:
            function: an address; only the units that hold it are looked at.
        """
        moved: dict[int, int] = {}
        units: Iterable[int] = range(len(self.units))
        if function is not None:
            units = {self._owners[index] for index in self._places.covering(function)}
        for number in units:
            subprograms = self.code(number).subprograms
            entered = {s.die: s.start for s in subprograms if s.part == 0}
            moved |= {s.start: entered[s.die] for s in subprograms if s.part and s.die in entered}
        return moved

    def _units_of(self, start: int, end: int) -> list[int]:
        numbers = dict.fromkeys(self._owners[i] for i in self._places.covering(start))
        for index in range(bisect_right(self._places.starts, start), len(self._places)):
            if self._places.starts[index] >= end:
                break
            numbers[self._owners[index]] = None
        return list(numbers)

    def _chain(self, number: int, address: int) -> list[Inlined]:
        entries = self.code(number).inlined
        places = self._inlined.get(number)
        if places is None:
            places = self._inlined[number] = Intervals((e.start, e.end) for e in entries)
        return sorted((entries[i] for i in places.covering(address)), key=lambda e: -e.depth)

    def _row(self, address: int) -> tuple[int, Row] | None:
        tried = set()
        for index in self._places.covering(address):
            number = self._owners[index]
            if number in tried:
                continue
            tried.add(number)
            rows = self.lines(number).rows
            at = bisect_right(rows, address, key=lambda row: row.start) - 1
            if at >= 0 and address < rows[at].end:
                return number, rows[at]
        return None


def source_line(file: str, line: int) -> str | None:
    """Line `line` (from 1) of a file without its end; None if there is no such file or line."""
    lines = source_lines(file)
    return lines[line - 1] if 0 < line <= len(lines) else None


@lru_cache(maxsize=64)
def source_lines(file: str) -> list[str]:
    """All lines of a file without their ends; none if there is no such file."""
    try:
        return Path(file).read_text("utf-8", "replace").splitlines()
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return []


def _file(lines: UnitLines, number: int) -> str | None:
    return lines.files[number] if 0 <= number < len(lines.files) else None
