# SPDX-License-Identifier: GPL-2.0-or-later
"""Slices as text: the longest ones, in the order of their starts, indented by depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.render.numbers import amount
from gdbext.render.page import Column, Page, Table
from gdbext.render.repairs import render_repairs

if TYPE_CHECKING:
    from gdbext.analyses.timeline import Slice, Timeline
    from gdbext.replay.slices import SliceTotals

__all__ = ["left_out_text", "render_timeline"]

_INDENT_MAX = 24


def render_timeline(page: Page, timeline: Timeline) -> None:
    """Print the slices of a window that keeps the longest ones."""
    slices = list(timeline.slices())
    if not slices:
        page.line(f"no slices in the window; {left_out_text(timeline.left_out())}")
        return
    several = len(timeline.instructions) > 1
    columns = [
        Column("start", "right"),
        Column("end", "right"),
        Column("inclusive", "right"),
        Column("self", "right"),
        Column("track", flexible=True),
        Column("slice", flexible=True),
    ]
    if several:
        columns.insert(0, Column("vCPU", "right"))
    table = Table("", columns)
    for each in slices:
        cells = [
            f"{'<' if each.open_start else ''}{amount(each.start)}",
            f"{amount(each.end)}{'>' if each.open_end else ''}",
            amount(each.inclusive_insns),
            amount(each.self_insns),
            f"handler {each.level}" if each.level else each.task or "",
            _text(each),
        ]
        if several:
            cells.insert(0, str(each.vcpu))
        table.add(*cells)
    page.table(table)
    if any(each.open_start or each.open_end for each in slices):
        page.line("<, >: it was open before its start, or after its end")
    page.line(left_out_text(timeline.left_out()))
    render_repairs(page, timeline.repairs)


def left_out_text(totals: SliceTotals) -> str:
    """`12 of 3,000 slices left out: 10 shorter than --min, 2 deeper than --depth`."""
    reasons = [
        (totals.shorter, "shorter than --min"),
        (totals.deeper, "deeper than --depth"),
        (totals.dropped, "not among the longest (--top N shows more)"),
    ]
    texts = [f"{amount(n)} {what}" for n, what in reasons if n]
    n = totals.shorter + totals.deeper + totals.dropped
    if not n:
        return f"{amount(totals.seen)} in all, none left out"
    return f"{amount(n)} of {amount(totals.seen)} slices left out: {', '.join(texts)}"


def _text(each: Slice) -> str:
    kind = "" if each.kind == "call" else f" ({each.kind})"
    return f"{' ' * min(each.depth - 1, _INDENT_MAX)}{each.function.name}{kind}"
