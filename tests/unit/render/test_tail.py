# SPDX-License-Identifier: GPL-2.0-or-later
"""What was executed last, as text."""

from __future__ import annotations

from gdbext.analyses.tail import TailInsn
from gdbext.render.page import Page
from gdbext.render.tail import calls_of, lines_of, render_tail

# Newest first.
TAIL = [
    TailInsn(0x104, "leaf", "/s/a.c", 11, "bx lr", 0),
    TailInsn(0x102, "leaf", "/s/a.c", 10, "movs r0, #1", 0),
    TailInsn(0x100, "leaf", "/s/a.c", 10, "nop", 0),
    TailInsn(0x204, "main", "/s/a.c", 20, "bl 0x100", 0),
    TailInsn(0x300, None, None, None, "nop", 0),
]


def test_runs_of_a_line_and_of_a_function() -> None:
    lines = [(run.address, run.line, run.n_insns) for run in lines_of(TAIL)]
    calls = [(run.address, run.function, run.n_insns) for run in calls_of(TAIL)]

    assert lines == [(0x104, 11, 1), (0x100, 10, 2), (0x204, 20, 1), (0x300, None, 1)]
    assert calls == [(0x100, "leaf", 3), (0x204, "main", 1), (0x300, None, 1)]


def test_instructions_with_function_and_source() -> None:
    pieces: list[str] = []

    render_tail(Page(pieces.append), TAIL[2:], "insn")

    assert "".join(pieces).splitlines() == [
        "  address     function  line    instruction",
        "  0x00000100  leaf      a.c:10  nop",
        "  0x00000204  main      a.c:20  bl 0x100",
        "  0x00000300  ?                 nop",
    ]


def test_vcpus_are_told_apart_where_there_are_several() -> None:
    pieces: list[str] = []
    other = TailInsn(0x100, "leaf", "/s/a.c", 10, "nop", 1)

    render_tail(Page(pieces.append), [TAIL[0], other], "insn")

    assert "".join(pieces).splitlines()[2] == "     1  0x00000100  leaf      a.c:10  nop"


def test_nothing_executed_is_said() -> None:
    pieces: list[str] = []

    render_tail(Page(pieces.append), [], "insn")

    assert pieces == ["nothing was executed\n"]
