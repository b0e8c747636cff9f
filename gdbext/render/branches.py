# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditional branches as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.render.numbers import address, amount, place
from gdbext.render.page import Column, Page, Table
from gdbext.replay.kinds import NO_TARGET

if TYPE_CHECKING:
    from gdbext.analyses.branches import BranchesReport

__all__ = ["render_branches"]


def render_branches(page: Page, report: BranchesReport, top: int | None) -> None:
    """Print the branches by address."""
    if not report.rows:
        page.line("no conditional branches")
        return
    unknown = any(row.branch.unknown for row in report.rows)
    columns = [
        Column("address"),
        Column("opcode"),
        Column("instruction", flexible=True),
        Column("target"),
        Column("taken", "right"),
        Column("not taken", "right"),
        Column("function", flexible=True),
        Column("line", flexible=True),
    ]
    if unknown:
        columns.insert(6, Column("unknown", "right"))
    table = Table("", columns, how_to_see_more="--top N shows more")
    for row in report.rows:
        branch = row.branch
        cells = [
            address(branch.address),
            row.code.hex(" "),
            row.text,
            "?" if branch.target == NO_TARGET else address(branch.target),
            amount(branch.taken),
            amount(branch.not_taken),
            row.function.name,
            place(row.file, branch.line),
        ]
        if unknown:
            cells.insert(6, amount(branch.unknown))
        table.add(*cells)
    page.table(table.bound(top))
