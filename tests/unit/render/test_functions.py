# SPDX-License-Identifier: GPL-2.0-or-later
"""The report about one function as text."""

from __future__ import annotations

import dataclasses

from gdbext.analyses.callees import Callee, CalleesReport
from gdbext.analyses.callers import Caller, CallersReport
from gdbext.analyses.entries import Entries
from gdbext.analyses.functions import FunctionReport
from gdbext.analyses.refs import FunctionRef, Site
from gdbext.render.functions import render_callees, render_callers, render_function
from gdbext.render.numbers import counted
from gdbext.render.page import Page

PARSE = FunctionRef("parse", 0x100, "/src/parser.c")
GROW = FunctionRef("grow", 0x200, "/src/vector.c")
CALLERS = (
    Caller(PARSE, 5, (Site(0x110, "/src/parser.c", 30, 4), Site(0x120, "/src/parser.c", 33, 1))),
    Caller(GROW, 2, (Site(0x208, None, None, 2),)),
)
REPORT = FunctionReport(
    name="malloc",
    address=0x400,
    size=64,
    file="/src/heap.c",
    line=12,
    aliases=("my_malloc",),
    entries=Entries(call=5, tail=2, trap=0, other=1),
    self_insns=1234,
    callers=CALLERS,
    callees=(Callee(FunctionRef("split", 0x500, "/src/heap.c"), 3),),
    insns_executed=20,
    insns_total=25,
    insns_not_run=((0x410, 0x414), (0x420, 0x426)),
    lines_executed=6,
    lines_total=9,
    lines_not_run=(("/src/heap.c", 20), ("/src/heap.c", 21), ("/src/heap.c", 30)),
)


def text_of_function(report: FunctionReport, top: int = 10) -> str:
    pieces: list[str] = []
    render_function(Page(pieces.append), report, top)
    return "".join(pieces)


def test_report_tells_calls_callers_callees_and_what_did_not_run() -> None:
    text = text_of_function(REPORT)

    assert text == (
        "malloc at 0x00000400, heap.c:12\n"
        "also named my_malloc\n"
        "called 8 times (2 by jump or veneer, 1 by a way that was not recorded)\n"
        "1,234 instructions executed in its own code\n"
        "20 of 25 instructions ran (80.0%); "
        "not run: 0x00000410..0x00000414, 0x00000420..0x00000426\n"
        "6 of 9 lines ran (66.7%); not run: heap.c:20-21,30\n"
        "Callers:\n"
        "  calls  caller                 call site    address\n"
        "      4  parse                  parser.c:30  0x00000110\n"
        "      2  grow                                0x00000208\n"
        "      1  parse                  parser.c:33  0x00000120\n"
        "      1  (caller not recorded)\n"
        "Callees:\n"
        "  calls  function  file\n"
        "      3  split     heap.c\n"
    )


def test_function_that_never_ran() -> None:
    never = dataclasses.replace(
        REPORT, entries=Entries(), self_insns=0, callers=(), callees=(), aliases=()
    )

    lines = text_of_function(never).splitlines()

    assert "never called" in lines
    assert "Callers:" not in lines
    assert "Callees:" not in lines


def test_trap_entries_are_told_apart() -> None:
    handler = dataclasses.replace(REPORT, entries=Entries(trap=40))

    lines = text_of_function(handler).splitlines()

    assert "entered 40 times by interrupt or exception, called by no code" in lines
    assert not any("never called" in line for line in lines)


def test_each_call_site_of_a_callee_has_a_cost_or_repeats_the_one_above() -> None:
    split = FunctionRef("split", 0x400, "heap.c")
    sites = (Site(0x210, None, None, 2), Site(0x220, None, None, 1))
    callee = Callee(split, 3, 70, sites)
    report = CalleesReport(split, 1, 10, 80, (callee,), {})
    out: list[str] = []

    render_callees(Page(out.append), report, None)

    rows = [line.split()[:3] for line in "".join(out).splitlines() if "0x000002" in line]
    assert rows == [["2", "70", "split"], ["1", '"', "split"]]


def test_counts_of_things_are_singular_where_there_is_one() -> None:
    assert [counted(n, "arrow") for n in (0, 1, 1234)] == ["0 arrows", "1 arrow", "1,234 arrows"]


def test_stripped_program_has_no_totals() -> None:
    stripped = dataclasses.replace(
        REPORT,
        insns_total=None,
        insns_not_run=(),
        lines_executed=0,
        lines_total=0,
        lines_not_run=(),
    )

    lines = text_of_function(stripped).splitlines()

    assert "20 different instructions ran" in lines
    assert not any("lines ran" in line for line in lines)


def test_rows_above_top_are_counted() -> None:
    text = text_of_function(REPORT, top=1)

    assert "(3 more; --top N shows more)" in text


def test_callers_report_lists_all_sites() -> None:
    pieces: list[str] = []

    report = CallersReport(FunctionRef("malloc", 0x400, None), Entries(call=7), CALLERS)
    render_callers(Page(pieces.append), report, None)

    assert "".join(pieces).splitlines() == [
        "malloc at 0x00000400",
        "called 7 times",
        "Callers:",
        "  calls  caller  call site    address",
        "      4  parse   parser.c:30  0x00000110",
        "      2  grow                 0x00000208",
        "      1  parse   parser.c:33  0x00000120",
    ]
