# SPDX-License-Identifier: GPL-2.0-or-later
"""The summary of a recording as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.render.numbers import address, amount, percent, place
from gdbext.render.page import Column, Page, Table

if TYPE_CHECKING:
    from gdbext.analyses.summary import Summary

__all__ = ["render_summary"]


def render_summary(page: Page, summary: Summary, top: int) -> None:
    """Print totals, then the hottest functions, what never ran, what lies outside, and gaps."""
    page.line(f"{amount(summary.instructions)} instructions in {amount(summary.blocks)} blocks")
    if len(summary.vcpus) > 1:
        for vcpu, n_insns in sorted(summary.vcpus.items()):
            page.line(f"  vCPU {vcpu}: {amount(n_insns)} instructions")
    _render_doubts(page, summary)
    _render_functions(page, summary, top)
    _render_never(page, summary, top)
    if summary.outside:
        table = Table(
            "Code outside the ELF file:",
            [
                Column("instructions", "right"),
                Column("share", "right"),
                Column("name", flexible=True),
                Column("from"),
                Column("to"),
            ],
        )
        for region in summary.outside:
            table.add(
                amount(region.self_insns),
                percent(region.self_insns, summary.instructions),
                region.name,
                address(region.start),
                address(region.end),
            )
        page.table(table.bound(top))


def _render_doubts(page: Page, summary: Summary) -> None:
    if summary.cut:
        page.line(f"The recording ends early: {summary.cut}")
    if summary.gaps.count:
        blocks = summary.gaps.n_blocks
        lost = f"{amount(blocks)} blocks" if blocks else "an unknown number of blocks"
        page.line(f"Gaps: {amount(summary.gaps.count)}, {lost} not recorded")
    if summary.undecided_blocks:
        page.line(f"{amount(summary.undecided_blocks)} blocks fit more than one instruction set")
    if summary.unknown_blocks:
        page.line(f"{amount(summary.unknown_blocks)} blocks could not be disassembled")
    if summary.stats.traps:
        inferred = summary.inferred_traps
        of_them = "" if inferred == summary.stats.traps else f" {amount(inferred)} of them"
        how = f",{of_them} inferred from the flow" if inferred else ""
        page.line(f"{amount(summary.stats.traps)} interrupts and exceptions{how}")
    for note in summary.notes:
        page.line(note)


def _render_functions(page: Page, summary: Summary, top: int) -> None:
    executed = [function for function in summary.functions if function.executed]
    executed.sort(key=lambda function: (-function.self_insns, function.address))
    table = Table(
        "Hottest functions:",
        [
            Column("instructions", "right"),
            Column("share", "right"),
            Column("calls", "right"),
            Column("function", flexible=True),
            Column("file", flexible=True),
        ],
        how_to_see_more="--top N shows more",
    )
    for function in executed:
        table.add(
            amount(function.self_insns),
            percent(function.self_insns, summary.instructions),
            amount(function.calls),
            function.name,
            place(function.file, None),
        )
    page.table(table.bound(top))


def _render_never(page: Page, summary: Summary, top: int) -> None:
    never = summary.never_executed
    if not never:
        return
    what = "Not recorded (filtered)" if summary.filtered else "Never executed"
    table = Table(
        f"{what}: {amount(len(never))} of {amount(len(summary.functions))} functions",
        [
            Column("function", flexible=True),
            Column("bytes", "right"),
            Column("file", flexible=True),
        ],
        how_to_see_more="--top N shows more",
    )
    for function in sorted(never, key=lambda function: (-function.size, function.address)):
        table.add(function.name, amount(function.size), place(function.file, None))
    page.table(table.bound(top))
