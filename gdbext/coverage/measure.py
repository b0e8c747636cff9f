# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage of a program: what ran, laid over its code, its line table and its functions."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gdbext.coverage.code import Code, read_code
from gdbext.coverage.exclusions import Exclusions
from gdbext.coverage.execution import Outcomes
from gdbext.coverage.filters import FileFilter
from gdbext.coverage.lines import Piece, measure_lines
from gdbext.coverage.model import (
    Branch,
    Coverage,
    Decision,
    FileCoverage,
    FunctionCoverage,
    Line,
    Ratio,
    Totals,
)
from gdbext.coverage.reached import COVERED, UNDECIDED, Reached, reach

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdbext.coverage.execution import Execution
    from gdbext.symbols import Function, LineRow, Symbols

__all__ = ["Settings", "measure"]

_NEVER = Outcomes(0, 0)
_ALL_ADDRESSES = 1 << 64


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


@dataclass
class _File:
    """One source file while it is put together."""

    pieces: dict[int, list[Piece]] = field(default_factory=dict)  # by line, 0: none
    functions: list[FunctionCoverage] = field(default_factory=list)


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
        self._files: dict[str, _File] = {}
        self._no_source = _File()

    def result(self) -> Coverage:
        """Lay everything on top of each other."""
        self._place_rows()
        self._place_functions()
        named = self._excluded_functions()
        files, left_out = [], []
        for path in sorted(self._files):
            if self._settings.files.takes(path):
                files.append(self._file(path, self._files[path], named.get(path, {})))
            else:
                left_out.append(self._file(path, self._files[path], None))
        no_source = self._file("", self._no_source, None)
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
        for row in self._rows:
            first, end = self._code.places(row.start, row.end)
            if first >= end:
                continue
            own = min(max(first, claimed), end)
            if own > claimed:
                unclaimed.append((claimed, own))
            claimed = max(claimed, end)
            file = self._files.setdefault(self._path(row.file), _File())
            piece = Piece(first, own, end, row.column, row.is_stmt)
            file.pieces.setdefault(row.line, []).append(piece)
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
                path = body.function.file if body.function is not None else None
                file = self._no_source
                if path is not None:
                    file = self._files.setdefault(self._path(path), _File())
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
            where = self._symbols.line_at(address)
            branches = [b for first, end in own for b in self._branches(first, end, None)]
            measured = FunctionCoverage(
                name=function.name,
                address=address,
                line=where.line if where else None,
                count=self._execution.entries.get(address, 0),
                insns=Ratio(
                    sum(self._reached.status.count(COVERED, *place) for place in own),
                    sum(end - first for first, end in own),
                ),
                branches=_outcomes(branches),
                covered=any(any(self._reached.counts[first:end]) for first, end in own),
            )
            file = self._no_source
            if where is not None:
                file = self._files.setdefault(self._path(where.file), _File())
            file.functions.append(measured)

    def _file(self, path: str, raw: _File, named: Mapping[int, str] | None) -> FileCoverage:
        """One file; `named` None: exclusions are not looked at."""
        reasons: dict[int, str] = {}
        if named is not None:
            source = self._symbols.source_lines(path)
            reasons = self._settings.exclusions.of_file(path, raw.pieces.keys(), source)
            reasons = {**named, **reasons}
        lines = [
            replace(line, excluded=reasons.get(line.line))
            for line in measure_lines(
                self._symbols, self._code.addresses, self._reached, raw.pieces
            )
        ]
        functions = [
            replace(function, excluded=reasons.get(function.line or 0))
            for function in sorted(raw.functions, key=lambda f: f.address)
        ]
        kept: list[Piece] = []
        dropped: list[Piece] = []
        branches: list[Branch] = []
        decisions: list[Decision] = []
        for number, pieces in raw.pieces.items():
            reason = reasons.get(number)
            (kept if reason is None else dropped).extend(pieces)
            for piece in pieces:
                for branch in self._branches(piece.own, piece.end, number, piece.column):
                    branches.append(replace(branch, excluded=reason))
                decisions += self._decisions(piece, number)
        return FileCoverage(
            path=path,
            lines=tuple(lines),
            functions=tuple(functions),
            branches=tuple(sorted(branches, key=lambda branch: branch.address)),
            decisions=tuple(sorted(decisions, key=lambda decision: decision.address)),
            totals=self._totals(
                [line for line in lines if line.excluded is None],
                kept,
                [function for function in functions if function.excluded is None],
            ),
            excluded=self._totals(
                [line for line in lines if line.excluded is not None],
                dropped,
                [function for function in functions if function.excluded is not None],
            ),
        )

    def _branches(self, first: int, end: int, line: int | None, column: int = 0) -> list[Branch]:
        """Conditional branches among the instructions [first, end)."""
        found = []
        for place in self._reached.branches_in(first, end):
            address = self._code.addresses[place]
            outcomes = self._execution.outcomes.get(address, _NEVER)
            found.append(
                Branch(
                    address=address,
                    line=line or None,
                    column=column,
                    target=self._code.scan.branches[address],
                    size=self._code.scan.sizes[place],
                    executed=self._reached.counts[place],
                    taken=outcomes.taken,
                    not_taken=outcomes.not_taken,
                )
            )
        return found

    def _decisions(self, piece: Piece, line: int) -> list[Decision]:
        scan = self._code.scan
        return [
            Decision(
                address=self._code.addresses[place],
                line=line or None,
                column=piece.column,
                kind="select" if self._code.addresses[place] in scan.selects else "predicated",
                executed=self._reached.counts[place],
            )
            for place in self._reached.decisions_in(piece.own, piece.end)
        ]

    def _totals(
        self,
        lines: Sequence[Line],
        pieces: Sequence[Piece],
        functions: Sequence[FunctionCoverage],
    ) -> Totals:
        status = self._reached.status
        branches = [b for piece in pieces for b in self._branches(piece.own, piece.end, None)]
        return Totals(
            insns=Ratio(
                sum(status.count(COVERED, piece.own, piece.end) for piece in pieces),
                sum(piece.end - piece.own for piece in pieces),
            ),
            lines=Ratio(sum(line.covered for line in lines), len(lines)),
            functions=Ratio(sum(function.covered for function in functions), len(functions)),
            branches=_outcomes(branches),
            partial_lines=sum(line.state == "partial" for line in lines),
            undecided_lines=sum(line.state == "undecided" for line in lines),
            undecided_insns=sum(status.count(UNDECIDED, p.own, p.end) for p in pieces),
            decisions=sum(len(self._reached.decisions_in(p.own, p.end)) for p in pieces),
        )

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
        return symbols.sources.rows(0, _ALL_ADDRESSES)
    return sorted({row for function in functions for row in symbols.rows_of(function)})


def _parts_of(symbols: Symbols, function: Function) -> dict[int, int]:
    """What was moved out of one function, by address."""
    return {
        part: whole
        for part, whole in symbols.sources.parts(function.address).items()
        if whole == function.address
    }


def _outcomes(branches: Sequence[Branch]) -> Ratio:
    return Ratio(sum(branch.outcomes.covered for branch in branches), 2 * len(branches))


def _sum(totals: Sequence[Totals]) -> Totals:
    whole = Totals()
    for one in totals:
        whole = whole.plus(one)
    return whole
