# SPDX-License-Identifier: GPL-2.0-or-later
"""Running the cases of sessions, one after the other or several at a time."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from gdbext.errors import ExpectationError, GdbextError, TargetError
from gdbext.session.machine import Machine
from gdbext.session.side_by_side import side_by_side
from gdbext.session.steps import Play

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdbext.session.model import Case

__all__ = ["CaseResult", "StepResult", "Verdict", "run_case", "run_cases"]

Verdict = Literal["passed", "failed", "error"]

CONSOLE_FILE: Final = "console.txt"
REPORT_FILE: Final = "session.json"
GDB_FILE: Final = "gdb.txt"
RECORDING_FILE: Final = "recording.rec"
CONSOLE_TAIL_LETTERS: Final = 4000


@dataclass(frozen=True)
class StepResult:
    """One step that was done, or at which the session ended."""

    line: int
    step: str
    time_s: float
    said: str


@dataclass
class CaseResult:
    """How a case went."""

    name: str
    label: str
    file: str
    verdict: Verdict
    time_s: float
    message: str = ""
    """Why it did not pass: FILE:LINE, the step, and what was wrong, in one line."""
    console_tail: str = ""
    artifacts: str = ""
    """The folder with its files."""
    steps: list[StepResult] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Name and label."""
        return f"{self.name} [{self.label}]" if self.label else self.name


def run_cases(cases: Sequence[tuple[Case, Path]], jobs: int) -> Iterator[CaseResult]:
    """Run cases, each with its folder for artifacts; results in their order, as they come.

    Args:
        jobs: how many at a time, each in a process of its own.
    """
    if jobs <= 1 or len(cases) <= 1:
        for case, artifacts in cases:
            yield run_case(case, artifacts)
        return
    outcomes = side_by_side(cases, lambda planned: run_case(*planned), jobs)
    for (case, artifacts), outcome in zip(cases, outcomes, strict=True):
        if isinstance(outcome, TargetError):
            message = f"{case.path}: {outcome}"
            outcome = CaseResult(case.name, case.label, str(case.path), "error", 0.0, message)
            outcome.artifacts = str(artifacts)
        yield outcome


def run_case(case: Case, artifacts: Path) -> CaseResult:
    """Run one case to its end, and leave its files in `artifacts`."""
    started = time.monotonic()
    result = CaseResult(case.name, case.label, str(case.path), "passed", 0.0)
    machine = Machine(case.board, case.firmware, case.qemu_args, case.others, case.attachment)
    try:
        artifacts.mkdir(parents=True, exist_ok=True)
        result.artifacts = str(artifacts)
        with machine:
            try:
                _play(case, machine, artifacts, started, result)
            finally:
                result.time_s = time.monotonic() - started
                _leave_files(case, machine, artifacts, result)
    except OSError as error:
        result.verdict = "error"
        result.message = f"{error.filename or artifacts}: cannot be written: {error.strerror}"
    result.time_s = time.monotonic() - started
    return result


def _play(
    case: Case, machine: Machine, artifacts: Path, started: float, result: CaseResult
) -> None:
    """Start the machine and do the steps until one fails."""
    try:
        machine.start()
    except GdbextError as error:
        result.verdict, result.message = "error", f"{case.path}: {error}"
        return
    play = Play(machine, artifacts, case.variables, started + case.timeout_s)
    for step in case.steps:
        began = time.monotonic()
        said = ""
        try:
            said = play.perform(step)
        except GdbextError as error:
            result.verdict = "failed" if isinstance(error, ExpectationError) else "error"
            result.message = f"{step.place}: {step.word}: {error}"
            said = str(error)
        took = time.monotonic() - began
        result.steps.append(StepResult(step.line, step.describe(), took, said.rstrip()))
        if result.verdict != "passed":
            return


def _leave_files(case: Case, machine: Machine, artifacts: Path, result: CaseResult) -> None:
    """Console, GDB's words, the recording and the report; what fails here is told in the report."""
    machine.session.loop.serve_ready()
    console = machine.console
    result.console_tail = console[-CONSOLE_TAIL_LETTERS:]
    (artifacts / CONSOLE_FILE).write_text(console)
    (artifacts / GDB_FILE).write_text("".join(machine.log))
    wanted = case.save_recording == "always" or (
        case.save_recording == "on-failure" and result.verdict != "passed"
    )
    if wanted and result.steps:
        # Nothing recorded, or QEMU killed early: the report says how the session went.
        with suppress(TargetError, GdbextError):
            if machine.recording.recording_path().joinpath("stream").exists():
                machine.trace(["dump", str(artifacts / RECORDING_FILE)])
    (artifacts / REPORT_FILE).write_text(json.dumps(asdict(result), indent=2) + "\n")
