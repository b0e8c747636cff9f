# SPDX-License-Identifier: GPL-2.0-or-later
"""All about one function: calls, callers, callees, its instructions and lines that ran or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gdbext.analyses.callees import Callee, callees_of
from gdbext.analyses.callers import Caller, callers_of
from gdbext.coverage.code import read_code
from gdbext.coverage.filters import FileFilter
from gdbext.coverage.measure import Settings, measure

if TYPE_CHECKING:
    from gdbext.analyses.entries import Entries
    from gdbext.analyses.program import Program
    from gdbext.symbols import Function

__all__ = ["FunctionReport", "report_function"]


@dataclass(frozen=True)
class FunctionReport:
    """One function; instruction ranges are half-open link addresses, lines are (file, line)."""

    name: str
    address: int
    size: int
    file: str | None
    line: int | None
    aliases: tuple[str, ...]
    entries: Entries
    self_insns: int
    callers: tuple[Caller, ...]
    callees: tuple[Callee, ...]
    insns_executed: int
    insns_total: int | None
    """None where the file does not tell code from data (stripped)."""
    insns_not_run: tuple[tuple[int, int], ...]
    lines_executed: int
    lines_total: int
    lines_not_run: tuple[tuple[str, int], ...]
    inclusive_insns: int | None = None
    """With what it called; handlers that interrupted it left out."""

    @property
    def calls(self) -> int:
        """Entries but for traps."""
        return self.entries.calls

    @property
    def unattributed(self) -> int:
        """Calls whose caller was not recorded; callers and these add up to `calls`."""
        return self.entries.other

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "analyze --json"."""
        return {
            "name": self.name,
            "address": self.address,
            "size": self.size,
            "file": self.file,
            "line": self.line,
            "aliases": list(self.aliases),
            "calls": self.calls,
            "entries": self.entries.to_json(),
            "unattributed": self.unattributed,
            "self_insns": self.self_insns,
            "inclusive_insns": self.inclusive_insns,
            "callers": [caller.to_json() for caller in self.callers],
            "callees": [callee.to_json() for callee in self.callees],
            "insns": {
                "executed": self.insns_executed,
                "total": self.insns_total,
                "not_run": [list(pair) for pair in self.insns_not_run],
            },
            "lines": {
                "executed": self.lines_executed,
                "total": self.lines_total,
                "not_run": [{"file": file, "line": line} for file, line in self.lines_not_run],
            },
        }


def report_function(program: Program, function: Function) -> FunctionReport:
    """Answer `analyze --function`."""
    executed = {
        address: n
        for address, n in program.counts.program.items()
        if function.address <= address < function.end
        and program.symbols.function_at(address) is function
    }
    insns = _insns(program, function, executed)
    lines = _lines(program, function)
    not_run = sorted(line for line, ran in lines.items() if not ran)
    arrivals = program.entries.of(function.address)
    return FunctionReport(
        name=function.name,
        address=function.address,
        size=function.size,
        file=function.file,
        line=function.line,
        aliases=function.aliases,
        entries=arrivals.entries,
        self_insns=sum(executed.values()),
        callers=callers_of(program, function, arrivals),
        callees=callees_of(program, function),
        insns_executed=sum(1 for n in executed.values() if n),
        insns_total=None if program.symbols.stripped else len(insns),
        insns_not_run=() if program.symbols.stripped else _ranges(insns, executed),
        lines_executed=len(lines) - len(not_run),
        lines_total=len(lines),
        lines_not_run=tuple(not_run),
        inclusive_insns=program.calls.costs[
            program.numbers.number_at(function.address)
        ].inclusive_insns,
    )


def _insns(program: Program, function: Function, executed: dict[int, int]) -> dict[int, int]:
    """Size of each instruction in the function's code, by address; data between is left out."""
    symbols = program.symbols
    rows = symbols.rows_of(function)
    code = read_code(symbols, program.target, [function], rows, executed, whole=False)
    return dict(zip(code.addresses, code.scan.sizes, strict=True))


def _lines(program: Program, function: Function) -> dict[tuple[str, int], bool]:
    """Whether each source line ran, as `coverage` says."""
    measured = measure(
        program.symbols,
        program.target,
        program.execution,
        Settings(FileFilter(everything=True)),
        function,
    )
    return {(file.path, line.line): line.covered for file in measured.files for line in file.lines}


def _ranges(insns: dict[int, int], executed: dict[int, int]) -> tuple[tuple[int, int], ...]:
    """Instructions that did not run as half-open ranges, neighbours joined."""
    ranges: list[tuple[int, int]] = []
    for address, size in insns.items():
        if executed.get(address):
            continue
        if ranges and ranges[-1][1] == address:
            ranges[-1] = (ranges[-1][0], address + size)
        else:
            ranges.append((address, address + size))
    return tuple(ranges)
