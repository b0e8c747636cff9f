# SPDX-License-Identifier: GPL-2.0-or-later
"""What was executed last, as text: by instruction, by source line or by function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gdbext.analyses.places import TailRun
from gdbext.render.numbers import address, amount, place
from gdbext.render.page import Column, Page, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdbext.analyses.places import Place
    from gdbext.analyses.tail import TailInsn

__all__ = ["lines_of", "render_tail"]

_INDENT_MAX = 16


def lines_of(tail: Sequence[TailInsn]) -> list[TailRun]:
    """The tail (newest first) as runs of one source line in one activation."""
    runs: list[TailRun] = []
    newer: TailInsn | None = None
    for insn in tail:
        of_newer = newer is not None and _is_same(insn, newer)
        count = runs.pop().n_insns + 1 if of_newer else 1
        times, round_insns = insn.times, insn.round_insns
        if of_newer and times == 1 and newer is not None:
            times, round_insns = newer.times, newer.round_insns
        run = TailRun(
            *(insn.address, insn.function, insn.file, insn.line, count, insn.vcpu),
            *(insn.place, times, round_insns),
        )
        runs.append(run)
        newer = insn
    return runs


def render_tail(page: Page, steps: Sequence[Any], kind: str) -> None:
    """Print the steps, newest first; `kind` is `insn`, `line` or `call`."""
    if not steps:
        page.line("nothing was executed")
        return
    several = len({step.vcpu for step in steps}) > 1
    places = [step.place for step in steps if step.place is not None]
    marked = any(each.level for each in places) or len({each.task for each in places}) > 1
    columns = [
        *([Column("vCPU", "right")] if several else []),
        Column("address"),
        *([Column("depth", "right")] if places else []),
        Column("function", flexible=True),
        Column("line", flexible=True),
        Column("instruction", flexible=True) if kind == "insn" else Column("instructions", "right"),
        *([Column("in", flexible=True)] if marked else []),
    ]
    table = Table("", columns)
    repeated = []
    for number, step in enumerate(steps, 1):
        where: Place | None = step.place
        table.add(
            *([str(step.vcpu)] if several else []),
            address(step.address),
            *([str(where.depth) if where else "?"] if places else []),
            _indent(where) + (step.function or "?"),
            place(step.file, step.line),
            (step.text or "") if kind == "insn" else amount(step.n_insns),
            *([_inside(where)] if marked else []),
        )
        if step.times > 1:
            repeated.append(
                f"row {number}: from here on, the last {amount(step.round_insns)} instructions ran "
                f"{amount(step.times)} times in turn; one is shown"
            )
    page.table(table)
    for line in repeated:
        page.line(line)
    if any(each.relative for each in places):
        page.line("depth 1 is the outermost call known; it began before what was looked at")


def _is_same(insn: TailInsn, newer: TailInsn) -> bool:
    """Both belong to one run; an activation that begins again is another one."""
    if newer.place is not None and newer.place.entered is not None:
        return False
    now = (insn.vcpu, insn.function, insn.file, insn.line)
    if now != (newer.vcpu, newer.function, newer.file, newer.line):
        return False
    if insn.place is None or newer.place is None:
        return insn.place is newer.place
    one, other = insn.place, newer.place
    return (one.depth, one.level, one.task) == (other.depth, other.level, other.task)


def _indent(where: Place | None) -> str:
    return " " * min(where.depth - 1, _INDENT_MAX) if where else ""


def _inside(where: Place | None) -> str:
    """`interrupt SysTick_Handler`, with an arrow where it begins; or the task."""
    if where is None:
        return "?"
    if not where.level:
        return where.task or ""
    begins = "-> " if where.entered in ("interrupt", "exception", "trap") else ""
    nested = f", nested {where.level}" if where.level > 1 else ""
    return f"{begins}{where.handler_kind} {where.handler}{nested}"
