# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers and tasks as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.render.numbers import address, amount, percent
from gdbext.render.page import Column, Page, Table
from gdbext.render.repairs import render_repairs

if TYPE_CHECKING:
    from gdbext.analyses.interrupts import Handler, InterruptsReport
    from gdbext.analyses.tasks import TasksReport

__all__ = ["render_interrupts", "render_tasks"]

_VECTORS_SHOWN = 3


def render_interrupts(page: Page, report: InterruptsReport, top: int) -> None:
    """Print each handler, then whom it interrupted."""
    if not report.handlers:
        page.line("no interrupt or exception was taken")
        render_repairs(page, report.repairs)
        return
    table = Table(
        "Handlers, in instructions:",
        [
            Column("count", "right"),
            Column("total", "right"),
            Column("share", "right"),
            Column("min", "right"),
            Column("median", "right"),
            Column("max", "right"),
            Column("nesting", "right"),
            Column("period", "right"),
            Column("handler", flexible=True),
        ],
        how_to_see_more="--top N shows more",
    )
    for handler in report.handlers:
        table.add(
            amount(handler.count),
            amount(handler.self_insns),
            percent(handler.self_insns, report.instructions),
            _known(handler.min_insns),
            _known(handler.median_insns),
            _known(handler.max_insns),
            str(handler.max_nesting),
            _known(handler.median_period),
            _name(handler),
        )
    page.table(table.bound(top))
    interrupted = Table(
        "Interrupted most:",
        [Column("count", "right"), Column("handler"), Column("function", flexible=True)],
        how_to_see_more="--json shows all",
    )
    for handler in report.handlers[:top]:
        for each in handler.interrupted[:3]:
            name = each.function.name if each.function else "(not recorded)"
            interrupted.add(amount(each.count), handler.name, name)
        interrupted.more += max(len(handler.interrupted) - 3, 0)
    page.table(interrupted)
    for handler in report.handlers[:top]:
        for n, what in (
            (handler.tail_chained, "began directly after another handler"),
            (handler.count - handler.complete, "did not return"),
        ):
            if n:
                page.line(f"{handler.name}: {amount(n)} of {amount(handler.count)} {what}")
    if report.inferred:
        page.line(f"{amount(report.inferred)} entries were inferred from the flow")
    render_repairs(page, report.repairs)


def render_tasks(page: Page, report: TasksReport, top: int) -> None:
    """Print each task."""
    table = Table(
        "",
        [
            Column("instructions", "right"),
            Column("share", "right"),
            Column("switches in", "right"),
            Column("longest run", "right"),
            Column("task", flexible=True),
            Column("begins at"),
        ],
        how_to_see_more="--top N shows more",
    )
    for task in report.tasks:
        table.add(
            amount(task.self_insns),
            percent(task.self_insns, report.instructions),
            amount(task.switches_in),
            amount(task.longest_run),
            task.name,
            address(task.address) if task.address is not None else "",
        )
    if report.handler_insns:
        n = report.handler_insns
        table.add(amount(n), percent(n, report.instructions), "", "", "(handlers)", "")
    page.table(table.bound(top + 1 if report.handler_insns else top))
    page.line(f"{amount(report.switches)} task switches")
    render_repairs(page, report.repairs)


def _name(handler: Handler) -> str:
    if not handler.vectors:
        return f"{handler.name} ({'/'.join(handler.kinds)})" if handler.kinds else handler.name
    names = ", ".join(handler.vectors[:_VECTORS_SHOWN])
    more = len(handler.vectors) - _VECTORS_SHOWN
    return f"{handler.name} ({names}{f' and {more} more' if more > 0 else ''})"


def _known(value: int | None) -> str:
    return "-" if value is None else amount(value)
