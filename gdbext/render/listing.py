# SPDX-License-Identifier: GPL-2.0-or-later
"""Annotated source as text: count, outcomes of branches, line number, source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.render.numbers import amount

if TYPE_CHECKING:
    from gdbext.analyses.listing import ListedLine, SourceListing
    from gdbext.coverage.model import Branch
    from gdbext.render.page import Page, Style

__all__ = ["render_listing"]


def render_listing(page: Page, listing: SourceListing) -> None:
    """Print one row for each line; nothing is shortened."""
    page.line(listing.path)
    if not listing.found:
        page.line(
            "the file is not here (--source-map FROM=TO says where it is): its lines with code"
        )
    counts = [_count(line) for line in listing.lines]
    outcomes = [" ".join(_outcome(branch) for branch in line.branches) for line in listing.lines]
    width = max((len(count) for count in counts), default=0)
    branch_width = max((len(text) for text in outcomes), default=0)
    number_width = len(str(listing.lines[-1].number)) if listing.lines else 1
    for line, count, outcome in zip(listing.lines, counts, outcomes, strict=True):
        style = _style(line)
        shown = count.rjust(width)
        halves = outcome.ljust(branch_width)
        if style is not None:
            shown = page.styled(shown, style)
        if any(branch.executed and branch.outcomes.covered < 2 for branch in line.branches):
            halves = page.styled(halves, "doubtful")
        number = page.styled(str(line.number).rjust(number_width), "dim")
        text = (line.text or "").expandtabs(8)
        page.line(f"{shown}  {halves}{'  ' if branch_width else ''}{number}  {text}".rstrip())


def _count(line: ListedLine) -> str:
    coverage = line.coverage
    if coverage is None:
        return ""
    count = "?" if coverage.count is None else amount(coverage.count)
    if coverage.state == "partial":
        count += "*"
    return f"({count})" if coverage.excluded is not None else count


def _outcome(branch: Branch) -> str:
    return f"{amount(branch.taken)}/{amount(branch.not_taken)}"


def _style(line: ListedLine) -> Style | None:
    if line.coverage is None:
        return None
    if line.coverage.excluded is not None:
        return "dim"
    styles: dict[str, Style] = {
        "covered": "good",
        "partial": "doubtful",
        "undecided": "doubtful",
        "uncovered": "bad",
    }
    return styles[line.coverage.state]
