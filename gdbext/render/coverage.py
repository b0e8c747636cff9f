# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage as text: totals, a table of files, and what did not run."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from gdbext.render.numbers import address, amount, percent
from gdbext.render.page import Column, Page, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdbext.coverage.model import Coverage, FileCoverage, FunctionCoverage, Ratio, Totals

__all__ = ["line_ranges", "ratio", "render_coverage", "render_uncovered", "short_paths"]


def render_coverage(page: Page, coverage: Coverage, name: str | None = None) -> None:
    """Print totals, then the files; of one function or file also what did not run."""
    _render_totals(page, coverage)
    if name is not None:
        render_uncovered(page, coverage)
        return
    paths = short_paths([file.path for file in coverage.files])
    table = Table(
        "",
        [
            Column("lines", "right"),
            Column("", "right"),
            Column("branches", "right"),
            Column("functions", "right"),
            Column("instructions", "right"),
            Column("file", flexible=True),
        ],
    )
    for file, path in zip(coverage.files, paths, strict=True):
        totals = file.totals
        table.add(
            percent(*totals.lines),
            _of(totals.lines),
            percent(*totals.branches),
            _of(totals.functions),
            percent(*totals.insns),
            path,
        )
    page.table(table)


def render_uncovered(page: Page, coverage: Coverage) -> None:
    """Print, file by file, functions and lines that did not run and branches that went one way."""
    files = [*coverage.files]
    paths = short_paths([file.path for file in files])
    if not files:  # there is no debug information
        files, paths = [coverage.no_source], ["(no source lines)"]
    shown = False
    for file, path in zip(files, paths, strict=True):
        rows = _uncovered(file)
        if rows:
            shown = True
            page.line(path)
            for row in rows:
                page.line(f"  {row}")
    if not shown:
        page.line("nothing is uncovered")


def ratio(part: Ratio) -> str:
    """`73.8% (254 of 344)`."""
    if not part.total:
        return "none"
    return f"{percent(*part)} ({amount(part.covered)} of {amount(part.total)})"


def line_ranges(numbers: Iterable[int]) -> str:
    """`12-14, 20`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def short_paths(paths: Sequence[str]) -> list[str]:
    """The paths without the folders that all of them share."""
    if len(paths) < 2:
        return [posixpath.basename(path) for path in paths]
    absolute = [path for path in paths if path.startswith("/")]
    common = posixpath.commonpath(absolute).rstrip("/") + "/" if absolute else ""
    return [path.removeprefix(common) for path in paths]


def _render_totals(page: Page, coverage: Coverage) -> None:
    totals = coverage.totals
    page.line(f"lines         {ratio(totals.lines)}{_line_remarks(totals)}")
    page.line(f"branches      {ratio(totals.branches)}")
    page.line(f"functions     {ratio(totals.functions)}")
    page.line(f"instructions  {ratio(totals.insns)}")
    if totals.decisions:
        page.line(
            f"{_n(totals.decisions, 'decision')} without a branch: how they went is not known"
        )
    excluded = coverage.excluded
    if excluded.insns.total:
        page.line(
            f"excluded, with a reason: {_n(excluded.lines.total, 'line')} "
            f"({amount(excluded.lines.covered)} ran), {_n(excluded.functions.total, 'function')}, "
            f"{_n(excluded.branches.total // 2, 'branch', 'es')}"
        )
    if coverage.filtered_files:
        page.line(
            f"left out: {_n(coverage.filtered_files, 'file')} with "
            f"{_n(coverage.filtered.lines.total, 'line')} (--all shows those of compilers and "
            "libraries)"
        )
    rest = coverage.no_source.totals
    if rest.insns.total:
        counted = totals.insns.total >= rest.insns.total and not coverage.files
        page.line(
            f"{'' if counted else 'not counted: '}{_n(rest.functions.total, 'function')} without "
            f"source lines, {ratio(rest.insns)} instructions ran"
        )
    if coverage.changed:
        page.line(
            f"{amount(coverage.changed)} executed instructions are not the ELF file's: no line"
        )
    for note in coverage.notes:
        page.line(note)


def _line_remarks(totals: Totals) -> str:
    remarks = []
    if totals.partial_lines:
        remarks.append(f"{amount(totals.partial_lines)} in part")
    if totals.undecided_lines:
        remarks.append(f"{amount(totals.undecided_lines)} more undecided")
    return f"; {', '.join(remarks)}" if remarks else ""


def _uncovered(file: FileCoverage) -> list[str]:
    rows = []
    functions = [f for f in file.functions if not f.covered and f.excluded is None]
    if functions:
        rows.append("functions: " + ", ".join(_function(f) for f in functions))
    lines = [line for line in file.lines if line.excluded is None]
    for state, text in (
        ("uncovered", "lines"),
        ("partial", "in part"),
        ("undecided", "undecided"),
    ):
        numbers = [line.line for line in lines if line.state == state]
        if numbers:
            rows.append(f"{text}: {line_ranges(numbers)}")
    for branch in file.branches:
        # Of lines that did not run at all it goes without saying.
        if branch.executed and branch.excluded is None and branch.outcomes.covered < 2:
            ways = [
                way
                for way, n in (("taken", branch.taken), ("not taken", branch.not_taken))
                if not n
            ]
            where = f"{branch.line}: " if branch.line else ""
            unknown = f" ({amount(branch.unknown)} unknown)" if branch.unknown else ""
            rows.append(
                f"{where}branch at {address(branch.address)} never {' or '.join(ways)}{unknown}"
            )
    return rows


def _function(function: FunctionCoverage) -> str:
    return f"{function.name}:{function.line}" if function.line else function.name


def _of(part: Ratio) -> str:
    return f"{amount(part.covered)}/{amount(part.total)}" if part.total else "-"


def _n(number: int, noun: str, plural: str = "s") -> str:
    return f"{amount(number)} {noun}{'' if number == 1 else plural}"
