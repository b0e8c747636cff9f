# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers to the questions of an expectation, from the recording, GDB and the console."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from gdbext.analyses.tree import Pruning
from gdbext.errors import UsageError
from gdbext.session.questions import QUESTIONS, check_questions
from gdbext.session.shapes import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gdbext.analyses.functions import FunctionReport
    from gdbext.analyses.workspace import Workspace
    from gdbext.session.expressions import Answer, Expression, Outcome, Result
    from gdbext.session.machine import Machine

__all__ = ["MachineAnswers"]


_R = TypeVar("_R")


class MachineAnswers:
    """Answers as of one moment: make a new one after the program has run."""

    def __init__(self, machine: Machine, variables: Mapping[str, Result] | None = None) -> None:
        self._machine = machine
        self._variables = dict(variables or {})
        self._loaded: Workspace | None = None
        self._reports: dict[str, FunctionReport] = {}

    def check(self, expression: Expression) -> Outcome:
        """Whether the expectation holds.

        Raises:
            UsageError: it asks for something that is not known.
            GdbextError: an answer cannot be had.
        """
        check_questions(expression)
        return expression.check(self)

    def answer(self, asked: Answer) -> Result:
        """The answer to one question."""
        if asked.name in QUESTIONS:
            given: Callable[[Answer], Result] = getattr(self, f"_{asked.name}")
            return given(asked)
        if asked.name not in self._variables:
            known = [*QUESTIONS, *self._variables]
            hint = nearest(asked.name, known) or f"; questions: {', '.join(known)}"
            raise UsageError(f"unknown question or variable '{asked.name}'{hint}")
        return self._variables[asked.name]

    # Functions.

    def _calls(self, asked: Answer) -> Result:
        return self._report(asked.arguments[0]).calls

    def _calls_from(self, asked: Answer) -> Result:
        caller, callee = asked.arguments
        found = self._workspace.find(caller)
        callers = self._report(callee).callers
        return sum(c.calls for c in callers if c.function.address == found.address)

    def _executed(self, asked: Answer) -> Result:
        return self._report(asked.arguments[0]).insns_executed > 0

    def _insns(self, asked: Answer) -> Result:
        return self._report(asked.arguments[0]).self_insns

    def _inclusive(self, asked: Answer) -> Result:
        return _known(asked, self._report(asked.arguments[0]).inclusive_insns)

    def _covered(self, asked: Answer) -> Result:
        report = self._report(asked.arguments[0])
        total = _known(asked, report.insns_total)
        return 100.0 * report.insns_executed / total if total else 0.0

    # The recording.

    def _instructions(self, _asked: Answer) -> Result:
        return self._workspace.program.tables.instructions

    def _gaps(self, _asked: Answer) -> Result:
        return self._workspace.summary().gaps.count

    def _max_depth(self, _asked: Answer) -> Result:
        return self._workspace.tree(None, Pruning(), inlined=False).max_depth

    def _max_nesting(self, _asked: Answer) -> Result:
        return self._workspace.interrupts().max_nesting

    def _irq(self, asked: Answer) -> Result:
        name = asked.arguments[0]
        handlers = self._workspace.interrupts().handlers
        for handler in handlers:
            if name == handler.name or name in handler.vectors:
                return int(_known(asked, getattr(handler, asked.part)))
        # A handler that never ran has a count; who misspells its name shall know.
        self._workspace.find(name)
        if asked.part in ("count", "complete", "self_insns"):
            return 0
        raise UsageError(f"{asked.text}: {name} never ran as a handler")

    def _task(self, asked: Answer) -> Result:
        name = asked.arguments[0]
        tasks = self._workspace.tasks().tasks
        for task in tasks:
            if task.name == name:
                return int(getattr(task, asked.part))
        known = ", ".join(task.name for task in tasks[:8]) or "none"
        raise UsageError(f"{asked.text}: no task '{name}'; tasks: {known}")

    def _coverage(self, asked: Answer) -> Result:
        report = json.loads(self._machine.trace(["coverage", *asked.arguments, "--json"]))
        counts = report["totals"][asked.part]
        if not counts["total"]:
            raise UsageError(f"{asked.text}: there is nothing to cover")
        return 100.0 * int(counts["covered"]) / int(counts["total"])

    # The session.

    def _console(self, _asked: Answer) -> Result:
        return self._machine.console

    def _exit_status(self, _asked: Answer) -> Result:
        stop = self._machine.session.debugger.last_stop
        if stop is None or not stop.has_ended or stop.exit_status is None:
            raise UsageError("exit_status: the program has not ended")
        return stop.exit_status

    def _stop(self, asked: Answer) -> Result:
        stop = self._machine.session.debugger.last_stop
        if stop is None:
            raise UsageError(f"{asked.text}: the program has not stopped yet")
        part: Result | None = getattr(stop, asked.part)
        if part is None:
            raise UsageError(f"{asked.text}: is not known here")
        return part

    def _value(self, asked: Answer) -> Result:
        return self._machine.evaluate(asked.arguments[0])

    # Helpers.

    @property
    def _workspace(self) -> Workspace:
        if self._loaded is None:
            self._loaded = self._machine.workspace()
        return self._loaded

    def _report(self, name: str) -> FunctionReport:
        if name not in self._reports:
            self._reports[name] = self._workspace.function(name)
        return self._reports[name]


def _known(asked: Answer, value: _R | None) -> _R:
    if value is None:
        raise UsageError(f"{asked.text}: is not known here")
    return value
