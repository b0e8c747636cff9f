# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage of a program: what ran, laid over its code, its line table and its functions."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gdbext.coverage.code import Code, read_code
from gdbext.coverage.exclusions import Exclusions
from gdbext.coverage.filters import FileFilter
from gdbext.coverage.lines import Piece
from gdbext.coverage.model import Coverage, FunctionCoverage, Totals
from gdbext.coverage.reached import Reached, reach
from gdbext.coverage.tally import RawFile, Tally, added

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdbext.coverage.execution import Execution
    from gdbext.symbols import Function, LineRow, Symbols

__all__ = ["Settings", "measure"]


@dataclass(frozen=True)
class Settings:
    """What counts."""

    files: FileFilter = field(default_factory=FileFilter)
    exclusions: Exclusions = field(default_factory=Exclusions)


def measure(
    symbols: Symbols,
    target: str,
    execution: Execution,
    settings: Settings,
    function: Function | None = None,
) -> Coverage:
    """Measure the whole program, or one function with what the compiler moved out of it.

    Args:
        target: QEMU's target name.
        function: only its code, also the code inlined into it.

    Raises:
        SymbolError: the debug information is damaged.
    """
    return _Measurement(symbols, target, execution, settings, function).result()


class _Measurement:
    def __init__(
        self,
        symbols: Symbols,
        target: str,
        execution: Execution,
        settings: Settings,
        function: Function | None,
    ) -> None:
        self._symbols = symbols
        self._execution = execution
        self._settings = settings
        self._whole = function is None
        self._parts = symbols.sources.parts() if function is None else _parts_of(symbols, function)
        self._functions: Sequence[Function] = symbols.functions
        if function is not None:
            own = {function.address} | self._parts.keys()
            self._functions = [f for f in symbols.functions if f.address in own]
        self._rows = _rows(symbols, None if function is None else self._functions)
        self._code: Code = read_code(
            symbols,
            target,
            self._functions,
            self._rows,
            execution.insns,
            whole=function is None,
        )
        self._reached: Reached = reach(self._code.scan, execution)
        self._paths: dict[str, str] = {}
        self._files: dict[str, RawFile] = {}
        self._no_source = RawFile()

    def result(self) -> Coverage:
        """Lay everything on top of each other."""
        self._place_rows()
        self._place_functions()
        named = self._excluded_functions()
        tally = Tally(self._symbols, self._code, self._reached, self._execution)
        files, left_out = [], []
        for path in sorted(self._files):
            if self._settings.files.takes(path):
                raw = self._files[path]
                files.append(tally.file(path, raw, self._reasons(path, raw, named.get(path, {}))))
            else:
                left_out.append(tally.file(path, self._files[path], {}))
        no_source = tally.file("", self._no_source, {})
        totals = _sum([file.totals for file in files])
        if not self._rows or self._settings.files.everything:
            totals = totals.plus(no_source.totals)
        exclusions = self._settings.exclusions
        return Coverage(
            files=tuple(files),
            totals=totals,
            excluded=_sum([file.excluded for file in files]),
            no_source=no_source,
            filtered=_sum([file.totals for file in left_out]),
            filtered_files=len(left_out),
            changed=self._execution.changed,
            notes=(*exclusions.notes, *self._unused()),
        )

    def _unused(self) -> list[str]:
        """Entries of lists that fitted nothing; where only a part is measured that says nothing."""
        if not self._whole:
            return []
        return [
            f"{entry.where}: nothing fits: {entry.function or entry.file} is not in the program, "
            "or has no code there"
            for entry in self._settings.exclusions.unused()
        ]

    def _path(self, recorded: str) -> str:
        path = self._paths.get(recorded)
        if path is None:
            path = self._paths[recorded] = self._settings.files.path(recorded)
        return path

    def _place_rows(self) -> None:
        """Give each row's instructions to its line; each instruction counts in one file."""
        claimed = 0
        unclaimed: list[tuple[int, int]] = []
        places = self._code.places
        files: dict[str, RawFile] = {}  # by the path that is in the debug information
        for start, stop, name, line, column, is_stmt in self._rows:
            first, end = places(start, stop)
            if first >= end:
                continue
            own = min(max(first, claimed), end)
            if own > claimed:
                unclaimed.append((claimed, own))
            claimed = max(claimed, end)
            file = files.get(name)
            if file is None:
                file = files[name] = self._files.setdefault(self._path(name), RawFile())
            piece = Piece(first, own, end, column, is_stmt)
            if line in file.pieces:
                file.pieces[line].append(piece)
            else:
                file.pieces[line] = [piece]
        unclaimed.append((claimed, len(self._code.addresses)))
        self._place_lineless(unclaimed)

    def _place_lineless(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Instructions without a row belong to their function's file, as line 0 does."""
        bodies = self._code.bodies
        ends = [body.end for body in bodies]
        for low, high in ranges:
            at = bisect_left(ends, low + 1)
            while at < len(bodies) and bodies[at].first < high:
                body = bodies[at]
                first, end = max(low, body.first), min(high, body.end)
                at += 1
                if first >= end:
                    continue
                piece = Piece(first, first, end, 0, False)
                where = self._symbols.place_of(body.function) if body.function else None
                file = self._no_source
                if where is not None:
                    file = self._files.setdefault(self._path(where.file), RawFile())
                file.pieces.setdefault(0, []).append(piece)

    def _place_functions(self) -> None:
        places: dict[int, list[tuple[int, int]]] = {}
        holders: dict[int, Function] = {f.address: f for f in self._functions}
        for body in self._code.bodies:
            if body.function is not None and body.first < body.end:
                whole = self._parts.get(body.function.address, body.function.address)
                whole = whole if whole in holders else body.function.address
                places.setdefault(whole, []).append((body.first, body.end))
        for address, own in places.items():
            function = holders[address]
            where = self._symbols.place_of(function)
            measured = FunctionCoverage(
                name=function.name,
                address=address,
                line=where.line if where else None,
                count=self._execution.entries.get(address, 0),
                insns=added(self._reached.insns(*place) for place in own),
                branches=added(self._reached.outcomes(*place) for place in own),
                covered=any(any(self._reached.counts[first:end]) for first, end in own),
            )
            file = self._no_source
            if where is not None:
                file = self._files.setdefault(self._path(where.file), RawFile())
            file.functions.append(measured)

    def _reasons(self, path: str, raw: RawFile, named: Mapping[int, str]) -> dict[int, str]:
        """Why lines of a file are excluded; `named`: lines of functions that a list names."""
        source = self._symbols.source_lines(path)
        exclusions = self._settings.exclusions
        return {**named, **exclusions.of_file(path, raw.pieces.keys(), source)}

    def _excluded_functions(self) -> dict[str, dict[int, str]]:
        """Reasons by path and line, of functions that a list names: their first line to the last
        one that is not inlined code."""
        named: dict[str, dict[int, str]] = {}
        for entry in self._settings.exclusions.functions():
            for function in self._symbols.find(entry.function or ""):
                self._settings.exclusions.use(entry)
                extent = self._symbols.lines_of(function)
                if extent is None:
                    continue
                file, first, last = extent
                path = self._path(file)
                reasons = named.setdefault(path, {})
                for line in range(first, last + 1):
                    reasons.setdefault(line, entry.reason)
        return named


def _rows(symbols: Symbols, functions: Sequence[Function] | None) -> list[LineRow]:
    """Line rows by address: all, or those of some functions."""
    if functions is None:
        return symbols.sources.all_rows()
    return sorted({row for function in functions for row in symbols.rows_of(function)})


def _parts_of(symbols: Symbols, function: Function) -> dict[int, int]:
    """What was moved out of one function, by address."""
    return {
        part: whole
        for part, whole in symbols.sources.parts(function.address).items()
        if whole == function.address
    }


def _sum(totals: Sequence[Totals]) -> Totals:
    whole = Totals()
    for one in totals:
        whole = whole.plus(one)
    return whole
