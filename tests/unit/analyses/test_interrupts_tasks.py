# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers and tasks: names, unknown times, shares."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from gdbext.analyses.interrupts import report_interrupts
from gdbext.analyses.tasks import report_tasks
from gdbext.render.interrupts import render_interrupts, render_tasks
from gdbext.render.page import Page
from gdbext.replay.calls import HandlerRow, NodeKind, TaskRow
from gdbext.replay.tables import Trap, TrapSource
from gdbext.symbols.objects import DataObject
from tests.support.call_tables import made_program

TICK, FAULT = 0x200, 0x310


def program() -> Any:
    made = cast(
        Any,
        made_program(
            """
            task main 1 100
            interrupt tick 3 60
            exception fault 1 7
            """,
            handlers=[
                HandlerRow(
                    TICK, 3, 3, 1, 2, 60, 5000, 4998, 5003, 40, 50, 60, 1 << NodeKind.INTERRUPT
                ),
                HandlerRow(FAULT, 1, 0, 0, 1, 7, 0, 0, 0, 0, 0, 0, 1 << NodeKind.TRAP),
            ],
            tasks=[TaskRow(0, 1, 1, 60, 60), TaskRow(0, 1, 2, 40, 30), TaskRow(0, 0, 0, 0, 0)],
        ),
    )
    # Block 1 is in main, block 2 in tick, 3 in fault; block 1 is two instructions long.
    made.blocks = SimpleNamespace(address=[0, 0x100, TICK, FAULT], sizes=lambda _: (2, 4))
    made.tables.traps = [
        Trap(1, 0, 2, TrapSource.INFERRED, 2, 0),
        Trap(0, 0, 2, TrapSource.EVENT, 1, 1),
        Trap(2, 1, 3, TrapSource.INFERRED, 1, 0),
    ]
    return made


def printed(render: Any, report: Any) -> list[str]:
    pieces: list[str] = []
    render(Page(pieces.append), report, 10)
    return "".join(pieces).splitlines()


def test_handlers_with_vectors_times_and_whom_they_interrupted() -> None:
    report = report_interrupts(program(), {TICK: ["SysTick"]})

    tick, fault = report.handlers
    assert (tick.name, tick.vectors, tick.kinds, tick.count) == (
        *("tick", ("SysTick",), ("interrupt",), 3),
    )
    assert (tick.min_insns, tick.median_insns, tick.max_insns) == (5000, 5000, 5003)
    assert [(i.function and i.function.name, i.count) for i in tick.interrupted] == [
        ("main", 2),
        (None, 1),
    ]
    assert fault.name == "fault+0x10", "a handler inside a function"
    assert (fault.complete, fault.min_insns, fault.median_period) == (0, None, None)
    assert [i.function and i.function.name for i in fault.interrupted] == ["tick"]
    assert report.inferred == 3


def test_handlers_as_text() -> None:
    assert printed(render_interrupts, report_interrupts(program(), {TICK: ["SysTick"]})) == [
        "Handlers, in instructions:",
        "  count  total  share    min  median    max  nesting  period  handler",
        "      3     60  35.9%  5,000   5,000  5,003        2      50  tick (SysTick)",
        "      1      7   4.2%      -       -      -        1       -  fault+0x10 (unknown)",
        "Interrupted most:",
        "  count  handler     function",
        "      2  tick        main",
        "      1  tick        (not recorded)",
        "      1  fault+0x10  tick",
        "tick: 1 of 3 began directly after another handler",
        "fault+0x10: 1 of 1 did not return",
        "3 entries were inferred from the flow",
    ]


def test_second_task_of_one_function_has_a_name_of_its_own() -> None:
    report = report_tasks(program())

    assert [(t.name, t.switches_in, t.self_insns) for t in report.tasks] == [
        ("main", 1, 60),
        ("main#2", 2, 40),
    ]
    assert report.handler_insns + sum(t.self_insns for t in report.tasks) == report.instructions
    assert printed(render_tasks, report) == [
        "  instructions  share  switches in  longest run  task        begins at",
        "            60  35.9%            1           60  main        0x00000100",
        "            40  24.0%            2           30  main#2      0x00000100",
        "            67  40.1%                            (handlers)",
        "0 task switches",
    ]


def test_nothing_interrupted_is_said() -> None:
    report = report_interrupts(made_program("task main 1 5"), {})

    assert printed(render_interrupts, report) == ["no interrupt or exception was taken"]


STACKS = DataObject("stacks", 0x2000_0000, 0x300)
OWN = DataObject("own_stack", 0x2000_1000, 0x100)


def workers(task_names: dict[str, str]) -> list[str]:
    """Names of tasks that begin with one function: three in an array of stacks, one elsewhere."""
    pointers = (0x2000_00F0, 0x2000_0100, 0x2000_01A0, 0x2000_10F0, None)
    made = made_program(
        "task worker 1 100",
        tasks=[TaskRow(0, 1, 1, 60 - n, 60, sp) for n, sp in enumerate(pointers)],
        task_names=task_names,
        stack_of=lambda sp: STACKS if sp < OWN.address else OWN,
    )
    return [task.name for task in report_tasks(made).tasks]


def test_tasks_that_begin_with_one_function_are_told_by_their_stacks() -> None:
    assert workers({}) == [
        "worker (stacks)",
        "worker (stacks)#2",
        "worker (stacks)#3",
        "worker (own_stack)",
        "worker",
    ]


def test_the_nearest_configured_stack_below_names_a_task_before_its_function_does() -> None:
    names = {"stacks": "red", "stacks+0x100": "green", "own_stack+256": "no", "worker": "other"}

    assert workers(names) == ["red", "red#2", "green", "other", "other#2"]
