# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage of several recordings: together, and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.render.coverage import line_ranges, render_coverage, short_paths
from gdbext.render.numbers import address, amount, counted, percent
from gdbext.render.page import Column, Page, Table

if TYPE_CHECKING:
    from gdbext.analyses.difference import Difference, FileDifference, Part
    from gdbext.analyses.merged import Merged
    from gdbext.coverage.model import FunctionCoverage

__all__ = ["render_difference", "render_merged"]


def render_merged(page: Page, merged: Merged) -> None:
    """Print what each recording covers and adds, then the coverage of all."""
    table = Table(
        "",
        [
            Column("lines", "right"),
            Column("added", "right"),
            Column("only here", "right"),
            Column("branches", "right"),
            Column("added", "right"),
            Column("only here", "right"),
            Column("recording", flexible=True),
        ],
    )
    for each in merged.recordings:
        table.add(
            percent(*each.totals.lines),
            amount(len(each.added.lines)),
            amount(len(each.only.lines)),
            percent(*each.totals.branches),
            amount(len(each.added.branches)),
            amount(len(each.only.branches)),
            each.run.name,
        )
    page.table(table)
    page.line(f"all {counted(len(merged.recordings), 'recording')} together:")
    render_coverage(page, merged.coverage)


def render_difference(page: Page, difference: Difference, top: int | None) -> None:
    """Print what the first ran and the second did not, then the other way round."""
    for part, other in (
        (difference.only_first, difference.only_second),
        (difference.only_second, difference.only_first),
    ):
        _render_part(page, part, other.run.name, top, branches=difference.same_code)
    for note in difference.notes:
        page.line(note)


def _render_part(page: Page, part: Part, other: str, top: int | None, *, branches: bool) -> None:
    head = f"{part.run.name} ran, and {other} did not:"
    if not part.files:
        page.line(f"{head} nothing")
        return
    what = [counted(part.n_functions, "function"), counted(part.n_lines, "line")]
    if branches:
        what.append(f"{counted(part.n_outcomes, 'outcome')} of branches")
    page.line(f"{head} {', '.join(what)}")
    shown = more = 0
    paths = short_paths([file.path for file in part.files])
    for file, path in zip(part.files, paths, strict=True):
        rows = _rows(file)
        room = rows if top is None else rows[: max(top - shown, 0)]
        if room:
            page.line(f"  {path or '(no source lines)'}")
        for row in room:
            page.line(f"    {row}")
        shown += len(room)
        more += len(rows) - len(room)
    if more:
        page.line(f"  ({counted(more, 'more row')}; --top N shows more)")


def _rows(file: FileDifference) -> list[str]:
    rows = []
    for title, wanted in (("functions", True), ("functions that are not there", False)):
        names = [_function(function) for function, there in file.functions if there == wanted]
        if names:
            rows.append(f"{title}: {', '.join(names)}")
    here = [line.line for line in file.lines if line.other is not None]
    nowhere = [line.line for line in file.lines if line.other is None]
    if here:
        rows.append(f"lines: {line_ranges(here)}")
    if nowhere:
        rows.append(f"lines without code there: {line_ranges(nowhere)}")
    lines = {line.line for line in file.lines}
    for branch, taken in file.outcomes:
        # Of lines that only one ran it goes without saying.
        if branch.line not in lines:
            where = f"{branch.line}: " if branch.line else ""
            way = "taken" if taken else "not taken"
            times = amount(branch.taken if taken else branch.not_taken)
            rows.append(f"{where}branch at {address(branch.address)} {way} ({times}×)")
    return rows


def _function(function: FunctionCoverage) -> str:
    line = f":{function.line}" if function.line else ""
    return f"{function.name}{line} ({amount(function.count)}×)"
