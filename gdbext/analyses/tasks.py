# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks: stacks of calls that a scheduler switches between."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gdbext.analyses.refs import numbered
from gdbext.analyses.repairs import repairs_of

if TYPE_CHECKING:
    from gdbext.analyses.program import Program
    from gdbext.replay.calls import TaskRow
    from gdbext.symbols.objects import DataObject

__all__ = ["Task", "TasksReport", "report_tasks", "task_names"]


@dataclass(frozen=True)
class Task:
    """One task, named by the function it began with, or by the board's file (`task_names`).

    Attributes:
        function: name of that function; address None for code that no function holds.
        switches_in: times it began or went on after another task.
        self_insns: all instructions it executed; handlers that interrupted it left out.
        longest_run: instructions of it between two switches.
        stack_pointer: one that it had; None: none was seen.
        stack: the variable that holds it.
    """

    name: str
    function: str
    address: int | None
    file: str | None
    vcpu: int
    switches_in: int
    self_insns: int
    longest_run: int
    stack_pointer: int | None = None
    stack: str | None = None

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
    """Names of the tasks that ran, by vCPU and the engine's number of the task there.

    The name that the board's file gives their stack or first function; else that of the function,
    with the variable that holds their stack where several begin with it.
    """
    rows: dict[tuple[int, int], TaskRow] = {}
    of_vcpu: dict[int, int] = {}
    for row in program.calls.tasks:
        number = of_vcpu[row.vcpu] = of_vcpu.get(row.vcpu, -1) + 1
        if row.self_insns:
            rows[row.vcpu, number] = row
    began = Counter(row.entry_function for row in rows.values())
    names: dict[tuple[int, int], str] = {}
    named: Counter[str] = Counter()
    for key, row in rows.items():
        name = _configured(program, row)
        if name is None:
            name = numbered(program, row.entry_function).name
            stack = _stack(program, row) if began[row.entry_function] > 1 else None
            name += f" ({stack.name})" if stack is not None else ""
        named[name] += 1
        names[key] = name if named[name] == 1 else f"{name}#{named[name]}"
    return names


def _stack(program: Program, row: TaskRow) -> DataObject | None:
    """The variable that holds a task's stack."""
    if row.stack_pointer is None:
        return None
    return program.data_objects.holding_stack(row.stack_pointer)


def _configured(program: Program, row: TaskRow) -> str | None:
    """The name in the board's file: by `STACK+OFFSET`, the nearest one below, then by function."""
    if not program.task_names:
        return None
    stack = _stack(program, row)
    if stack is not None and row.stack_pointer is not None:
        best = -1
        found = None
        for symbol, name in program.task_names.items():
            base, _, text = symbol.partition("+")
            offset = int(text, 0) if text else 0
            # A stack grows down: one that is empty points to where the next one begins.
            if base == stack.name and best < offset < row.stack_pointer - stack.address:
                best, found = offset, name
        if found is not None:
            return found
    return program.task_names.get(numbered(program, row.entry_function).name)


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
            row.stack_pointer,
            stack.name if (stack := _stack(program, row)) is not None else None,
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
