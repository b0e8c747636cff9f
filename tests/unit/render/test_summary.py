# SPDX-License-Identifier: GPL-2.0-or-later
"""The summary as text."""

from __future__ import annotations

import dataclasses

from gdbext.analyses.filtered import Filtered
from gdbext.analyses.summary import FunctionCount, Gaps, OutsideRegion, Summary
from gdbext.render.page import Page
from gdbext.render.summary import render_summary
from gdbext.replay.tables import Stats

SUMMARY = Summary(
    instructions=1000,
    blocks=300,
    vcpus={0: 1000},
    functions=(
        FunctionCount("hot", 0x100, 20, 7, 900, True, "/s/a.c"),
        FunctionCount("warm", 0x200, 10, 1, 90, True, None),
        FunctionCount("cold", 0x300, 64, 0, 0, False, "/s/b.c"),
    ),
    outside=(OutsideRegion("code outside the ELF file", 0x1000, 0x1010, 10),),
    gaps=Gaps(0, 0),
    filtered=Filtered((), 0, 0, 0),
    cut=None,
    undecided_blocks=0,
    unknown_blocks=0,
    inferred_traps=0,
    stats=Stats.zero(),
    notes=(),
)


def text(summary: Summary, top: int = 10) -> str:
    pieces: list[str] = []
    render_summary(Page(pieces.append), summary, top)
    return "".join(pieces)


def test_totals_hottest_never_executed_and_outside() -> None:
    assert text(SUMMARY).splitlines() == [
        "1,000 instructions in 300 blocks",
        "Hottest functions:",
        "  instructions  share  calls  function  file",
        "           900  90.0%      7  hot       a.c",
        "            90   9.0%      1  warm",
        "Never executed: 1 of 3 functions",
        "  function  bytes  file",
        "  cold         64  b.c",
        "Code outside the ELF file:",
        "  instructions  share  name                       from        to",
        "            10   1.0%  code outside the ELF file  0x00001000  0x00001010",
    ]


def test_what_makes_the_numbers_doubtful_comes_first() -> None:
    doubtful = dataclasses.replace(
        SUMMARY,
        vcpus={0: 600, 1: 400},
        gaps=Gaps(2, 0),
        cut="t.rec: offset 0x40: cut",
        undecided_blocks=3,
        unknown_blocks=4,
        inferred_traps=5,
        stats=dataclasses.replace(Stats.zero(), traps=6),
        notes=("a note",),
    )

    assert text(doubtful).splitlines()[:9] == [
        "1,000 instructions in 300 blocks",
        "  vCPU 0: 600 instructions",
        "  vCPU 1: 400 instructions",
        "The recording ends early: t.rec: offset 0x40: cut",
        "Gaps: 2, an unknown number of blocks not recorded",
        "3 blocks fit more than one instruction set",
        "4 blocks could not be disassembled",
        "6 interrupts and exceptions, 5 of them inferred from the flow",
        "a note",
    ]


def test_page_is_bounded() -> None:
    many = dataclasses.replace(
        SUMMARY,
        functions=tuple(FunctionCount(f"f{i}", i, 4, 1, 1, i % 2 == 0, None) for i in range(1000)),
    )

    assert len(text(many).splitlines()) < 32
