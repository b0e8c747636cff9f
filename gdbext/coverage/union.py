# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage of several builds of one source, united by source line.

A line or function of the source is one, however many builds have it; instructions and branches of
different builds are different ones, so they add up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gdbext.coverage.model import (
    Coverage,
    FileCoverage,
    FunctionCoverage,
    Line,
    Ratio,
    State,
    Totals,
    Unit,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["function_keys", "united"]


def united(parts: Sequence[Coverage]) -> Coverage:
    """The coverage of all; of one it is that one."""
    if len(parts) == 1:
        return parts[0]
    by_path: dict[str, list[FileCoverage]] = {}
    for part in parts:
        for file in part.files:
            by_path.setdefault(file.path, []).append(file)
    files = [_file(by_path[path]) for path in sorted(by_path)]
    no_source = _file([part.no_source for part in parts])
    totals = _sum(file.totals for file in files)
    counted = [part.no_source for part in parts if _counts_no_source(part)]
    if counted:
        totals = totals.plus(_file(counted).totals)
    return Coverage(
        files=tuple(files),
        totals=totals,
        excluded=_sum([file.excluded for file in files]),
        no_source=no_source,
        filtered=_sum([part.filtered for part in parts]),
        filtered_files=max(part.filtered_files for part in parts),
        changed=sum(part.changed for part in parts),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def function_keys(file: FileCoverage) -> list[tuple[str, int]]:
    """What names each function of the file in every build: its name, and which one of that name.

    Addresses differ, and so may lines.
    """
    seen: dict[str, int] = {}
    keys = []
    for function in file.functions:
        seen[function.name] = seen.get(function.name, 0) + 1
        keys.append((function.name, seen[function.name]))
    return keys


def _counts_no_source(part: Coverage) -> bool:
    return part.totals.insns.total > sum(file.totals.insns.total for file in part.files)


def _file(parts: Sequence[FileCoverage]) -> FileCoverage:
    by_line: dict[int, list[Line]] = {}
    by_function: dict[tuple[str, int], list[FunctionCoverage]] = {}
    for part in parts:
        for line in part.lines:
            by_line.setdefault(line.line, []).append(line)
        for key, function in zip(function_keys(part), part.functions, strict=True):
            by_function.setdefault(key, []).append(function)
    lines = tuple(_line(by_line[number]) for number in sorted(by_line))
    functions = tuple(
        sorted((_function(each) for each in by_function.values()), key=lambda f: f.address)
    )
    return FileCoverage(
        path=parts[0].path,
        lines=lines,
        functions=functions,
        branches=tuple(
            sorted((b for part in parts for b in part.branches), key=lambda b: b.address)
        ),
        decisions=tuple(
            sorted((d for part in parts for d in part.decisions), key=lambda d: d.address)
        ),
        totals=_totals(
            _sum([part.totals for part in parts]),
            [line for line in lines if line.excluded is None],
            [function for function in functions if function.excluded is None],
        ),
        excluded=_totals(
            _sum([part.excluded for part in parts]),
            [line for line in lines if line.excluded is not None],
            [function for function in functions if function.excluded is not None],
        ),
    )


def _line(parts: Sequence[Line]) -> Line:
    """Covered if it was in one build; partial if in none all of it ran."""
    states = {part.state for part in parts}
    order: tuple[State, ...] = ("covered", "partial", "undecided", "uncovered")
    return Line(
        line=parts[0].line,
        count=_count([part.count for part in parts]),
        insns=_added(part.insns for part in parts),
        state=next(state for state in order if state in states),
        units=_units(parts),
        copies=tuple(copy for part in parts for copy in part.copies),
        excluded=next((part.excluded for part in parts if part.excluded is not None), None),
    )


def _units(parts: Sequence[Line]) -> tuple[Unit, ...]:
    """By column, where all builds tell them apart."""
    if not all(part.units for part in parts):
        return ()
    by_column: dict[int, list[int | None]] = {}
    for part in parts:
        for unit in part.units:
            by_column.setdefault(unit.column, []).append(unit.count)
    return tuple(Unit(column, _count(by_column[column])) for column in sorted(by_column))


def _function(parts: Sequence[FunctionCoverage]) -> FunctionCoverage:
    return replace(
        parts[0],
        count=sum(part.count for part in parts),
        insns=_added(part.insns for part in parts),
        branches=_added(part.branches for part in parts),
        covered=any(part.covered for part in parts),
        excluded=next((part.excluded for part in parts if part.excluded is not None), None),
    )


def _totals(added: Totals, lines: Sequence[Line], functions: Sequence[FunctionCoverage]) -> Totals:
    """Sums of what differs between builds, and counts of what does not."""
    return replace(
        added,
        lines=Ratio(sum(line.covered for line in lines), len(lines)),
        functions=Ratio(sum(function.covered for function in functions), len(functions)),
        partial_lines=sum(line.state == "partial" for line in lines),
        undecided_lines=sum(line.state == "undecided" for line in lines),
    )


def _count(counts: Sequence[int | None]) -> int | None:
    """Those that are known; undecided if the others did not run."""
    total = sum(count or 0 for count in counts)
    return None if not total and None in counts else total


def _added(parts: Iterable[Ratio]) -> Ratio:
    total = Ratio(0, 0)
    for part in parts:
        total = total.plus(part)
    return total


def _sum(totals: Iterable[Totals]) -> Totals:
    whole = Totals()
    for one in totals:
        whole = whole.plus(one)
    return whole
