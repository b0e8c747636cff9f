# SPDX-License-Identifier: GPL-2.0-or-later
"""The profile as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.render.numbers import amount, percent, place
from gdbext.render.page import Column, Page, Table
from gdbext.render.repairs import render_repairs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdbext.analyses.profile import Profile, ProfileRow

__all__ = ["render_profile"]


def render_profile(page: Page, profile: Profile, top: int) -> None:
    """Print functions, then tasks and handlers with their own if there are several."""
    page.line(f"{amount(profile.instructions)} instructions")
    page.table(_table("", profile.functions, profile.instructions, top))
    if len(profile.contexts) > 1:
        for context in profile.contexts:
            share = percent(context.insns, profile.instructions)
            title = f"In {context.kind} {context.name}: {amount(context.insns)} ({share})"
            page.table(_table(title, context.functions, profile.instructions, max(top // 4, 3)))
    render_repairs(page, profile.repairs)


def _table(title: str, rows: Iterable[ProfileRow], whole: int, top: int) -> Table:
    table = Table(
        title,
        [
            Column("self", "right"),
            Column("share", "right"),
            Column("inclusive", "right"),
            Column("share", "right"),
            Column("calls", "right"),
            Column("function", flexible=True),
            Column("file", flexible=True),
        ],
        how_to_see_more="--top N shows more",
    )
    for row in rows:
        table.add(
            amount(row.self_insns),
            percent(row.self_insns, whole),
            amount(row.inclusive_insns),
            percent(row.inclusive_insns, whole),
            "" if row.inlined else amount(row.calls),
            f"{row.name} (inlined)" if row.inlined else row.name,
            place(row.file, None),
        )
    return table.bound(top)
