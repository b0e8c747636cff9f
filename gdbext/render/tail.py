# SPDX-License-Identifier: GPL-2.0-or-later
"""What was executed last, as text: by instruction, by source line or by function."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from gdbext.render.numbers import address, amount, place
from gdbext.render.page import Column, Page, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdbext.analyses.tail import TailInsn

__all__ = ["TailRun", "calls_of", "lines_of", "render_tail"]


class Step(Protocol):
    """A row of the tail."""

    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class TailRun:
    """Instructions executed one after the other in the same line or function."""

    address: int
    """Of the first instruction of the run."""
    function: str | None
    file: str | None
    line: int | None
    n_insns: int
    vcpu: int

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


def lines_of(tail: Sequence[TailInsn]) -> list[TailRun]:
    """The tail (newest first) as runs of one source line."""
    return _runs(tail, lambda insn: (insn.vcpu, insn.function, insn.file, insn.line))


def calls_of(tail: Sequence[TailInsn]) -> list[TailRun]:
    """The tail (newest first) as runs of one function."""
    return _runs(tail, lambda insn: (insn.vcpu, insn.function))


def render_tail(page: Page, steps: Sequence[Any], kind: str) -> None:
    """Print the steps, newest first; `kind` is `insn`, `line` or `call`."""
    if not steps:
        page.line("nothing was executed")
        return
    vcpus = {step.vcpu for step in steps}
    columns = [Column("address"), Column("function", flexible=True), Column("line", flexible=True)]
    columns.append(Column("instruction", flexible=True) if kind == "insn" else _COUNT)
    if len(vcpus) > 1:
        columns.insert(0, Column("vCPU", "right"))
    table = Table("", columns)
    for step in steps:
        last = (getattr(step, "text", "") or "") if kind == "insn" else amount(step.n_insns)
        cells = [address(step.address), step.function or "?", place(step.file, step.line), last]
        if len(vcpus) > 1:
            cells.insert(0, str(step.vcpu))
        table.add(*cells)
    page.table(table)


_COUNT = Column("instructions", "right")


def _runs(tail: Sequence[TailInsn], key: Callable[[TailInsn], object]) -> list[TailRun]:
    runs: list[TailRun] = []
    before: object = None
    for insn in tail:
        now = key(insn)
        count = runs.pop().n_insns + 1 if runs and now == before else 1
        before = now
        runs.append(TailRun(insn.address, insn.function, insn.file, insn.line, count, insn.vcpu))
    return runs
