# SPDX-License-Identifier: GPL-2.0-or-later
"""The report about one function as text."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from gdbext.render.numbers import address, amount, percent, place
from gdbext.render.page import Column, Page, Table
from gdbext.render.repairs import render_repairs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdbext.analyses.callees import CalleesReport
    from gdbext.analyses.callers import Caller, CallersReport
    from gdbext.analyses.entries import Entries
    from gdbext.analyses.functions import FunctionReport

__all__ = ["render_callees", "render_callers", "render_function"]


def render_function(page: Page, report: FunctionReport, top: int) -> None:
    """Print calls, callers, callees, instructions and what did not run."""
    where = place(report.file, report.line)
    page.line(f"{report.name} at {address(report.address)}{f', {where}' if where else ''}")
    if report.aliases:
        page.line(f"also named {', '.join(report.aliases)}")
    _render_entries(page, report.entries)
    inclusive = report.inclusive_insns
    with_callees = f"; {amount(inclusive)} with what it called" if inclusive is not None else ""
    page.line(f"{amount(report.self_insns)} instructions executed in its own code{with_callees}")
    _render_coverage(page, report)
    page.table(_callers_table(report.callers, report.unattributed).bound(top))
    callees = Table(
        "Callees:" if report.callees else "",
        [
            Column("calls", "right"),
            Column("function", flexible=True),
            Column("file", flexible=True),
        ],
        how_to_see_more="--top N shows more",
    )
    for callee in report.callees:
        callees.add(amount(callee.calls), callee.function.name, place(callee.function.file, None))
    page.table(callees.bound(top))


def render_callers(page: Page, report: CallersReport, top: int | None) -> None:
    """Print who called, from where, how often."""
    page.line(f"{report.function.name} at {address(report.function.address)}")
    _render_entries(page, report.entries)
    page.table(_callers_table(report.callers, report.unattributed).bound(top))


def render_callees(page: Page, report: CalleesReport, top: int | None) -> None:
    """Print what it called, from where, how often, at what cost."""
    page.line(f"{report.function.name} at {address(report.function.address)}")
    page.line(
        f"entered {_times(report.calls)}; {amount(report.inclusive_insns)} instructions, "
        f"{amount(report.self_insns)} of them its own"
    )
    table = Table(
        "Callees:" if report.callees else "it called nothing",
        [
            Column("calls", "right"),
            Column("inclusive", "right"),
            Column("callee", flexible=True),
            Column("call site"),
            Column("address"),
        ],
        how_to_see_more="--top N shows more",
    )
    for callee in report.callees:
        # Costs are known for a callee as a whole: its further call sites repeat that of the first.
        cost = "?" if callee.inclusive_insns is None else amount(callee.inclusive_insns)
        for site in callee.sites:
            where = place(site.file, site.line)
            table.add(amount(site.count), cost, callee.function.name, where, address(site.address))
            cost = '"'
    page.table(table.bound(top))
    render_repairs(page, report.repairs)


def _render_entries(page: Page, entries: Entries) -> None:
    parts = [
        f"{amount(count)} {text}"
        for count, text in (
            (entries.tail, "by jump or veneer"),
            (entries.other, "by a way that was not recorded"),
        )
        if count
    ]
    how = f" ({', '.join(parts)})" if parts else ""
    trapped = f"entered {_times(entries.trap)} by interrupt or exception" if entries.trap else ""
    if entries.calls:
        page.line(f"called {_times(entries.calls)}{how}")
        if trapped:
            page.line(trapped)
    else:
        page.line(f"{trapped}, called by no code" if trapped else "never called")


def _callers_table(callers: Iterable[Caller], unattributed: int) -> Table:
    table = Table(
        "",
        [
            Column("calls", "right"),
            Column("caller", flexible=True),
            Column("call site"),
            Column("address"),
        ],
        how_to_see_more="--top N shows more",
    )
    rows = [(site.count, caller.function.name, site) for caller in callers for site in caller.sites]
    for count, name, site in sorted(rows, key=lambda row: (-row[0], row[2].address)):
        table.add(amount(count), name, place(site.file, site.line), address(site.address))
    if unattributed:
        table.add(amount(unattributed), "(caller not recorded)", "", "")
    if table.rows:
        table.title = "Callers:"
    return table


def _render_coverage(page: Page, report: FunctionReport) -> None:
    if report.insns_total is None:
        page.line(f"{amount(report.insns_executed)} different instructions ran")
    else:
        page.line(
            f"{amount(report.insns_executed)} of {amount(report.insns_total)} instructions ran "
            f"({percent(report.insns_executed, report.insns_total)})"
            + _ranges(report.insns_not_run, limit=6)
        )
    if report.lines_total:
        page.line(
            f"{amount(report.lines_executed)} of {amount(report.lines_total)} lines ran "
            f"({percent(report.lines_executed, report.lines_total)})" + _lines(report.lines_not_run)
        )


def _ranges(ranges: Iterable[tuple[int, int]], limit: int) -> str:
    listed = [f"{address(start)}..{address(end)}" for start, end in ranges]
    if not listed:
        return ""
    more = f" and {len(listed) - limit} more" if len(listed) > limit else ""
    return f"; not run: {', '.join(listed[:limit])}{more}"


def _lines(lines: Iterable[tuple[str, int]]) -> str:
    """`; not run: main.c:12-14,20`."""
    parts = []
    for file, group in groupby(sorted(lines), key=lambda line: line[0]):
        runs: list[list[int]] = []
        for _, number in group:
            if runs and number == runs[-1][1] + 1:
                runs[-1][1] = number
            else:
                runs.append([number, number])
        numbers = ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
        parts.append(f"{place(file, None)}:{numbers}")
    return f"; not run: {', '.join(parts)}" if parts else ""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{amount(count)} times"
