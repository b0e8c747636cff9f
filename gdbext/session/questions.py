# SPDX-License-Identifier: GPL-2.0-or-later
"""The questions that an expectation may ask: names, arguments and parts, known before any run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gdbext.errors import UsageError
from gdbext.session.shapes import nearest

if TYPE_CHECKING:
    from gdbext.session.expressions import Answer, Expression

__all__ = ["QUESTIONS", "Question", "check_questions"]


@dataclass(frozen=True)
class Question:
    """What a name in an expression means."""

    usage: str
    """How it is written."""
    help: str
    n_arguments: int = 0
    parts: tuple[str, ...] = ()
    """The words of which one must follow after a dot."""
    n_optional: int = 0
    """Arguments that may follow."""


_IRQ_PARTS: Final = (
    *("count", "complete", "self_insns", "min_insns", "median_insns", "max_insns"),
    *("max_nesting", "min_period", "median_period", "max_period"),
)
_COVERAGE_PARTS: Final = ("lines", "functions", "branches", "insns")

QUESTIONS: Final[dict[str, Question]] = {
    "calls": Question("calls(F)", "times function F was called", 1),
    "calls_from": Question("calls_from(G, F)", "of these, from function G", 2),
    "executed": Question("executed(F)", "any instruction of F ran", 1),
    "insns": Question("insns(F)", "instructions executed in F's own code", 1),
    "inclusive": Question("inclusive(F)", "with what F called", 1),
    "covered": Question("covered(F)", "percentage of F's instructions that ran", 1),
    "instructions": Question("instructions", "instructions recorded, on all vCPUs"),
    "gaps": Question("gaps", "places where something was not recorded"),
    "max_depth": Question("max_depth", "deepest level of the tree of calls; roots have 1"),
    "max_nesting": Question("max_nesting", "handlers that were open at a time, at most"),
    "irq": Question(
        'irq("HANDLER").PART', "of an interrupt's or exception's handler", 1, _IRQ_PARTS
    ),
    "task": Question(
        'task("NAME").PART', "of a task", 1, ("self_insns", "switches_in", "longest_run")
    ),
    "coverage": Question(
        "coverage.PART",
        "percentage of the program, or of a function or file, that ran",
        parts=_COVERAGE_PARTS,
        n_optional=1,
    ),
    "console": Question("console", "all that the guest wrote"),
    "exit_status": Question("exit_status", "QEMU's exit status, after the program's end"),
    "stop": Question(
        *("stop.PART", "of the last stop", 0),
        ("reason", "function", "file", "line", "address", "breakpoint"),
    ),
    "value": Question('value("E")', "of an expression in GDB's language, now", 1),
}


def check_questions(expression: Expression) -> None:
    """See that every question can be asked; names without arguments may be variables.

    Raises:
        UsageError: an unknown name or part, or too many or few arguments.
    """
    for asked in expression.answers:
        question = QUESTIONS.get(asked.name)
        if question is None:
            if asked.arguments or asked.part:
                known = ", ".join(QUESTIONS)
                hint = nearest(asked.name, QUESTIONS) or f"; questions: {known}"
                raise UsageError(f"unknown question '{asked.name}'{hint}")
            continue
        _check_form(asked, question)


def _check_form(asked: Answer, question: Question) -> None:
    most = question.n_arguments + question.n_optional
    if not question.n_arguments <= len(asked.arguments) <= most:
        raise UsageError(f"'{asked.text}': write {question.usage}")
    if asked.part and asked.part not in question.parts:
        hint = nearest(asked.part, question.parts)
        if not question.parts:
            hint = f"; write {question.usage}"
        raise UsageError(f"'{asked.text}': no part '{asked.part}'{hint}")
    if question.parts and not asked.part:
        raise UsageError(f"'{asked.text}': say which: {', '.join(question.parts)}")
