# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks: stacks of calls that a scheduler switches between."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gdbext.analyses.refs import numbered
from gdbext.analyses.repairs import repairs_of

if TYPE_CHECKING:
    from gdbext.analyses.program import Program

__all__ = ["Task", "TasksReport", "report_tasks", "task_names"]


@dataclass(frozen=True)
class Task:
    """One task, named by the function it began with; `#2` tells a second one of it.

    Attributes:
        function: name of that function; address None for code that no function holds.
        switches_in: times it began or went on after another task.
        self_insns: all instructions it executed; handlers that interrupted it left out.
        longest_run: instructions of it between two switches.
    """

    name: str
    function: str
    address: int | None
    file: str | None
    vcpu: int
    switches_in: int
    self_insns: int
    longest_run: int

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


@dataclass(frozen=True)
class TasksReport:
    """All tasks, most instructions first; these and `handler_insns` add up to `instructions`."""

    instructions: int
    handler_insns: int
    tasks: tuple[Task, ...]
    switches: int
    repairs: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "gdbext/tasks/1"."""
        return {
            "instructions": self.instructions,
            "handler_insns": self.handler_insns,
            "switches": self.switches,
            "tasks": [task.to_json() for task in self.tasks],
            "repairs": self.repairs,
        }


def task_names(program: Program) -> dict[tuple[int, int], str]:
    """Names of the tasks that ran, by vCPU and the engine's number of the task there."""
    names: dict[tuple[int, int], str] = {}
    named: dict[str, int] = {}
    of_vcpu: dict[int, int] = {}
    for row in program.calls.tasks:
        number = of_vcpu[row.vcpu] = of_vcpu.get(row.vcpu, -1) + 1
        if row.self_insns:
            function = numbered(program, row.entry_function).name
            n = named[function] = named.get(function, 0) + 1
            names[row.vcpu, number] = function if n == 1 else f"{function}#{n}"
    return names


def report_tasks(program: Program) -> TasksReport:
    """Answer `tasks`."""
    ran = [row for row in program.calls.tasks if row.self_insns]
    tasks = [
        Task(
            name,
            *numbered(program, row.entry_function),
            row.vcpu,
            row.switches_in,
            row.self_insns,
            row.longest_run,
        )
        for name, row in zip(task_names(program).values(), ran, strict=True)
    ]
    return TasksReport(
        instructions=program.tables.instructions,
        handler_insns=sum(row.self_insns for row in program.calls.handlers),
        tasks=tuple(sorted(tasks, key=lambda task: (-task.self_insns, task.name))),
        switches=program.tables.stats.task_switches,
        repairs=repairs_of(program),
    )
