# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the layout of a program, or of one of its functions, from code and debug information."""

from __future__ import annotations

import posixpath
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from gdbext.coverage.code import Code, read_code
from gdbext.coverage.layout import LAYOUT_VERSION, Layout, Piece, PlacedFunction, lay_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gdbext.symbols import Function, LineRow, Symbols

__all__ = ["layout_of"]

_KEPT: Final = f"layout-{LAYOUT_VERSION}"


def layout_of(
    symbols: Symbols,
    target: str,
    executed: Collection[int],
    function: Function | None = None,
) -> Layout:
    """The layout of the whole program, or of one function with what was moved out of it.

    Args:
        target: QEMU's target name.
        executed: addresses of instructions that ran: inside the functions they are code, whatever
            the file says.

    Raises:
        SymbolError: the debug information is damaged.
    """
    if function is not None:
        parts = _parts_of(symbols, function)
        own = {function.address} | parts.keys()
        functions = [f for f in symbols.functions if f.address in own]
        rows = sorted({row for each in functions for row in symbols.rows_of(each)})
        return _lay(symbols, target, functions, rows, parts, executed, whole=False)
    if symbols.stripped:
        # Its functions are those that were called, so they differ by recording.
        return _whole(symbols, target, executed)
    layout: Layout | None = symbols.kept.get(_KEPT)
    if layout is None:
        stored = symbols.load_bytes(f"{_KEPT}-{target}")
        layout = Layout.from_bytes(stored) if stored is not None else None
        if layout is None:
            layout = _whole(symbols, target, ())
            symbols.store_bytes(f"{_KEPT}-{target}", layout.to_bytes())
        symbols.kept[_KEPT] = layout
    return layout if _has_all(layout, executed) else _whole(symbols, target, executed)


def _whole(symbols: Symbols, target: str, executed: Collection[int]) -> Layout:
    parts, rows = symbols.sources.parts(), symbols.sources.all_rows()
    return _lay(symbols, target, symbols.functions, rows, parts, executed, whole=True)


def _has_all(layout: Layout, executed: Collection[int]) -> bool:
    """Whether the layout would be the same with what ran."""
    for address in set(executed).difference(layout.addresses):
        at = bisect_left(layout.low, address + 1) - 1
        if at >= 0 and address < layout.high[at]:
            return False
    return True


def _parts_of(symbols: Symbols, function: Function) -> dict[int, int]:
    """What was moved out of one function, by address."""
    return {
        part: whole
        for part, whole in symbols.sources.parts(function.address).items()
        if whole == function.address
    }


def _lay(
    symbols: Symbols,
    target: str,
    functions: Sequence[Function],
    rows: Sequence[LineRow],
    parts: Mapping[int, int],
    executed: Collection[int],
    *,
    whole: bool,
) -> Layout:
    code = read_code(symbols, target, functions, rows, executed, whole=whole)
    layout = Layout(
        addresses=array("Q", code.addresses),
        sizes=bytes(code.scan.sizes),
        copies=array("q", code.copies),
        low=array("Q", (low for low, _ in code.ranges)),
        high=array("Q", (high for _, high in code.ranges)),
    )
    branches = sorted(code.scan.branches)
    layout.branches = _places(code, branches)
    layout.targets = array("Q", (code.scan.branches[address] for address in branches))
    layout.effects = _places(code, sorted(code.scan.effects))
    layout.predicated = _places(code, sorted(code.scan.predicated))
    layout.selects = _places(code, sorted(code.scan.selects))
    files = _Files()
    layout.folded[0] = _place_rows(code, symbols, rows, files)
    _place_functions(code, symbols, functions, parts, files, layout)
    layout.files = list(files.numbers)
    lay_lines(layout, files.lines)
    return layout


def _places(code: Code, addresses: Iterable[int]) -> array[int]:
    return array("I", (code.place(address) for address in addresses))


class _Files:
    """Numbers of source files, and what belongs to their lines."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {"": 0}
        self.lines: list[dict[int, list[Piece]]] = [{}]
        self._recorded: dict[str, int] = {}

    def number(self, recorded: str) -> int:
        """Of a file by the path that is in the debug information."""
        number = self._recorded.get(recorded)
        if number is None:
            number = self.numbers.setdefault(posixpath.normpath(recorded), len(self.numbers))
            if number == len(self.lines):
                self.lines.append({})
            self._recorded[recorded] = number
        return number


def _place_rows(code: Code, symbols: Symbols, rows: Sequence[LineRow], files: _Files) -> int:
    """Give each row's instructions to its line; each instruction counts in one file.

    Returns:
        how many instructions other lines had claimed already.
    """
    claimed = 0
    holder: tuple[str, int] = ("", 0)
    folded = 0
    unclaimed: list[tuple[int, int]] = []
    for start, stop, name, line, column, is_stmt in rows:
        first, end = code.places(start, stop)
        if first >= end:
            continue
        own = min(max(first, claimed), end)
        if own > claimed:
            unclaimed.append((claimed, own))
        if own > first and (name, line) != holder:
            folded += own - first
        if own < end:
            holder = name, line
        claimed = max(claimed, end)
        by_line = files.lines[files.number(name)]
        piece = Piece(first, own, end, column, is_stmt)
        if line in by_line:
            by_line[line].append(piece)
        else:
            by_line[line] = [piece]
    unclaimed.append((claimed, len(code.addresses)))
    _place_lineless(code, symbols, unclaimed, files)
    return folded


def _place_lineless(
    code: Code, symbols: Symbols, ranges: Sequence[tuple[int, int]], files: _Files
) -> None:
    """Instructions without a row belong to their function's file, as line 0 does."""
    bodies = code.bodies
    ends = [body.end for body in bodies]
    for low, high in ranges:
        at = bisect_left(ends, low + 1)
        while at < len(bodies) and bodies[at].first < high:
            body = bodies[at]
            first, end = max(low, body.first), min(high, body.end)
            at += 1
            if first >= end:
                continue
            where = symbols.place_of(body.function) if body.function else None
            number = files.number(where.file) if where is not None else 0
            piece = Piece(first, first, end, 0, False)
            files.lines[number].setdefault(0, []).append(piece)


def _place_functions(
    code: Code,
    symbols: Symbols,
    functions: Sequence[Function],
    parts: Mapping[int, int],
    files: _Files,
    layout: Layout,
) -> None:
    holders = {function.address: function for function in functions}
    places: dict[int, list[tuple[int, int]]] = {}
    for body in code.bodies:
        if body.function is not None and body.first < body.end:
            whole = parts.get(body.function.address, body.function.address)
            whole = whole if whole in holders else body.function.address
            places.setdefault(whole, []).append((body.first, body.end))
    for address in sorted(places):
        where = symbols.declared_at(holders[address])
        number = files.number(where.file) if where is not None else 0
        line = where.line if where is not None else 0
        layout.add_function(PlacedFunction(address, number, line, tuple(places[address])))
