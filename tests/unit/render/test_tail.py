# SPDX-License-Identifier: GPL-2.0-or-later
"""What was executed last, as text."""

from __future__ import annotations

from gdbext.analyses.places import Place
from gdbext.analyses.tail import TailInsn
from gdbext.render.page import Page
from gdbext.render.tail import lines_of, render_tail

IN_MAIN = Place(1, False, 0, None, None, "main", None)
IN_TICK = Place(1, False, 1, "tick", "interrupt", None, None)
TICK_BEGINS = Place(1, False, 1, "tick", "interrupt", None, "interrupt")

# Newest first.
TAIL = [
    TailInsn(0x104, "leaf", "/s/a.c", 11, "bx lr", 0),
    TailInsn(0x102, "leaf", "/s/a.c", 10, "movs r0, #1", 0),
    TailInsn(0x100, "leaf", "/s/a.c", 10, "nop", 0),
    TailInsn(0x204, "main", "/s/a.c", 20, "bl 0x100", 0),
    TailInsn(0x300, None, None, None, "nop", 0),
]


def printed(steps: list[TailInsn], kind: str = "insn") -> list[str]:
    pieces: list[str] = []
    render_tail(Page(pieces.append), steps, kind)
    return "".join(pieces).splitlines()


def test_runs_of_a_line() -> None:
    lines = [(run.address, run.line, run.n_insns) for run in lines_of(TAIL)]

    assert lines == [(0x104, 11, 1), (0x100, 10, 2), (0x204, 20, 1), (0x300, None, 1)]


def test_run_of_a_line_ends_where_its_function_is_entered_again() -> None:
    entered = Place(2, False, 0, None, None, "main", "call")
    goes_on = Place(2, False, 0, None, None, "main", None)
    line = [
        TailInsn(0x102, "leaf", "/s/a.c", 10, "bx lr", 0, goes_on),
        TailInsn(0x100, "leaf", "/s/a.c", 10, "nop", 0, entered),
        TailInsn(0x102, "leaf", "/s/a.c", 10, "bx lr", 0, goes_on),
    ]

    assert [(run.address, run.n_insns) for run in lines_of(line)] == [(0x100, 2), (0x102, 1)]


def test_depth_and_where_handlers_begin() -> None:
    steps = [
        TailInsn(0x402, "tick", "/s/a.c", 40, "nop", 0, IN_TICK),
        TailInsn(0x400, "tick", "/s/a.c", 40, "nop", 0, TICK_BEGINS),
        TailInsn(0x200, "main", "/s/a.c", 20, "nop", 0, IN_MAIN),
    ]

    assert printed(steps) == [
        "  address     depth  function  line    instruction  in",
        "  0x00000402      1  tick      a.c:40  nop          interrupt tick",
        "  0x00000400      1  tick      a.c:40  nop          -> interrupt tick",
        "  0x00000200      1  main      a.c:20  nop          main",
    ]


def test_rounds_of_a_loop_are_told_below_the_table() -> None:
    spin = TailInsn(0x402, "tick", "/s/a.c", 40, "b 0x402", 0, None, 5000, 1)

    assert printed([spin])[2:] == [
        "row 1: from here on, the last 1 instructions ran 5,000 times in turn; one is shown"
    ]
    assert [(run.times, run.round_insns) for run in lines_of([spin])] == [(5000, 1)]


def test_instructions_with_function_and_source() -> None:
    assert printed(TAIL[2:]) == [
        "  address     function  line    instruction",
        "  0x00000100  leaf      a.c:10  nop",
        "  0x00000204  main      a.c:20  bl 0x100",
        "  0x00000300  ?                 nop",
    ]


def test_vcpus_are_told_apart_where_there_are_several() -> None:
    other = TailInsn(0x100, "leaf", "/s/a.c", 10, "nop", 1)

    assert printed([TAIL[0], other])[2] == "     1  0x00000100  leaf      a.c:10  nop"


def test_nothing_executed_is_said() -> None:
    assert printed([]) == ["nothing was executed"]
