# SPDX-License-Identifier: GPL-2.0-or-later
"""A program on an emulated board, under GDB and recorded: what scripts and tests do with it."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

from gdbext.errors import ControlError, DebuggerError, ExpectationError, UsageError
from gdbext.mi.records import quoted
from gdbext.mi.session import DebugSession, Setup
from gdbext.mi.stops import Stop, stop_of
from gdbext.session.context import RecordingContext
from gdbext.session.goals import ConsoleGoal, ExitGoal, Goal, InsnsGoal, PlaceGoal, TimeGoal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from gdbext.analyses.workspace import Workspace
    from gdbext.placed import PlacedElf
    from gdbext.target.attach import Attachment
    from gdbext.target.boards import Board

__all__ = ["Machine", "StepBy"]

StepBy = Literal["line", "insn", "over", "over-insn", "out"]

TIMEOUT_S: Final = 60.0
_STEPS: Final[dict[StepBy, str]] = {
    "line": "step",
    "insn": "stepi",
    "over": "next",
    "over-insn": "nexti",
    "out": "finish",
}
_WATCHES: Final = {"write": "watch", "read": "rwatch", "any": "awatch"}


class Machine:
    """QEMU, GDB and the recorder for one program. Close it, or use it in `with`.

    Every method that lets the program run raises ExpectationError where it does not do what was
    asked for in time, and TargetError where GDB or QEMU fails.
    """

    def __init__(
        self,
        board: Board,
        elf: Path,
        qemu_args: Sequence[str] = (),
        others: Sequence[PlacedElf] = (),
        attachment: Attachment | None = None,
    ) -> None:
        """`start` starts it.

        Args:
            others: ELF files that run beside the program.
            attachment: a QEMU that runs already; None: start one.
        """
        setup = Setup(
            board,
            elf,
            qemu_args=qemu_args,
            init_files=False,
            trace_commands=False,
            quiet=True,
            others=others,
            attachment=attachment,
        )
        self.session = DebugSession(setup, self)
        self.log: list[str] = []
        """What GDB said, stops and all."""
        self.remark = ""
        """About the last `run_until`: how far beyond its goal the program ran, where that is."""
        self._context: RecordingContext | None = None
        self._read_until = 0

    def __enter__(self) -> Machine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start QEMU and GDB; the program stands at its first instruction."""
        self.session.start()
        directory = self.session.emulator.directory
        self._context = RecordingContext(directory, self.session.setup.elf, self._stopped_at)

    def close(self) -> None:
        """End both; the live recording goes with them."""
        self.session.close()

    # Breakpoints.

    def break_at(
        self,
        location: str,
        *,
        condition: str = "",
        temporary: bool = False,
        hardware: bool = False,
        ignore: int = 0,
    ) -> int:
        """Set a breakpoint; its number.

        Raises:
            DebuggerError: there is no such place, or the condition is none.
        """
        self._load_for(condition)
        words = ["-break-insert"]
        words += ["-t"] if temporary else []
        words += ["-h"] if hardware else []
        words += ["-c", quoted(condition)] if condition else []
        words += ["-i", str(ignore)] if ignore else []
        answer = self.session.debugger.command(" ".join([*words, "--", quoted(location)]))
        return int(str(answer["bkpt"]["number"]))

    def watch(
        self,
        expression: str,
        access: Literal["write", "read", "any"] = "write",
        condition: str = "",
    ) -> int:
        """Set a watchpoint; its number. Raises: as `break_at`."""
        self._load_for(condition)
        before = {each.number for each in self.session.breakpoints.all()}
        suffix = f" if {condition}" if condition else ""
        self.session.debugger.console(f"{_WATCHES[access]} {expression}{suffix}")
        made = [e.number for e in self.session.breakpoints.all() if e.number not in before]
        if not made:
            raise DebuggerError(f"watch {expression}: GDB set no watchpoint")
        return made[-1]

    def delete(self, number: int | None = None) -> None:
        """Delete a breakpoint or watchpoint; None: all of them."""
        # GDB tells nobody of what MI commands delete.
        self.session.debugger.console("delete" if number is None else f"delete {number}")

    # Running.

    def run(self, timeout_s: float = TIMEOUT_S) -> Stop:
        """Run until the next stop, or the end."""
        self.session.resume("continue")
        stop = self.session.wait_stop(time.monotonic() + timeout_s)
        return stop if stop is not None else self._too_late("no stop", timeout_s)

    def run_until(
        self,
        *,
        function: str = "",
        line: str = "",
        address: int | str | None = None,
        console: str = "",
        console_matches: str = "",
        insns: int | None = None,
        seconds: float | None = None,
        exit: bool | int | None = None,  # noqa: A002  # the word of session files
        timeout_s: float = TIMEOUT_S,
    ) -> Stop:
        """Run until what is asked for, and stop there.

        Args:
            console, console_matches: looks at what the guest wrote after the last such match.
            insns: recorded instructions from here on; it stops there or a little later.
            exit: True for any end of the program, or the exit status it must have.
        """
        self.remark = ""
        place = function or line or (_place(address) if address is not None else "")
        goal: Goal
        if place:
            number = self.break_at(place, temporary=True)
            goal = PlaceGoal(place, number, lambda: self._is_gone(number))
        elif console or console_matches:
            if not self.session.guest.is_here:
                raise UsageError(
                    "run-until console: a QEMU that was not started here has its own console"
                )
            pattern = console_matches or re.escape(console)
            goal = ConsoleGoal(
                console or console_matches, self.session.guest, pattern, self._read_until
            )
        elif insns is not None:
            self._check_recording()
            goal = InsnsGoal(insns, self._recorded_insns)
        elif seconds is not None:
            goal = TimeGoal(seconds)
            timeout_s = max(timeout_s, seconds + 10.0)
        elif exit is not None and exit is not False:
            goal = ExitGoal(None if exit is True else exit)
        else:
            raise UsageError("run-until: say until what")
        try:
            stop = self._run_to(goal, timeout_s)
            self.remark = goal.remark()
            return stop
        finally:
            if isinstance(goal, ConsoleGoal):
                self._read_until = goal.read_until
            if isinstance(goal, PlaceGoal) and self.session.breakpoints.get(goal.number):
                with suppress(DebuggerError):
                    self.delete(goal.number)

    def step(self, by: StepBy = "line", count: int = 1, timeout_s: float = TIMEOUT_S) -> Stop:
        """Run by source lines or instructions, or out of the function."""
        deadline = time.monotonic() + timeout_s
        stop: Stop | None = None
        for _ in range(count):
            self.session.resume(_STEPS[by])
            stop = self.session.wait_stop(deadline)
            if stop is None:
                return self._too_late(f"step by {by} is not done", timeout_s)
            if stop.has_ended:
                raise ExpectationError(f"{stop.describe()} while stepping")
        assert stop is not None, "count is at least 1"
        return stop

    def reset(self) -> None:
        """Reset the machine; it stands at its first instruction again.

        Raises:
            DebuggerError: QEMU cannot.
        """
        self.session.check_target()
        self.session.debugger.console("monitor system_reset")
        # QEMU resets when its main loop comes round; GDB must read the registers anew.
        debugger = self.session.debugger
        debugger.console("maintenance flush register-cache")
        debugger.last_stop = stop_of({"reason": "reset", **debugger.command("-stack-info-frame")})

    # Data.

    def evaluate(self, expression: str) -> int | float | str:
        """The value of an expression in GDB's language: a number if it is one.

        Raises:
            DebuggerError: it has none.
            UsageError: the program has ended.
        """
        if self.has_ended:
            # GDB would answer with what the ELF file holds.
            raise UsageError(f"{expression}: the program has ended, its memory is gone")
        self._load_for(expression)
        text = self.session.debugger.evaluate(expression)
        # `65 'A'`, `0x20 <vectors+32>`: the number is what is meant.
        match = re.fullmatch(r"(-?(?:0x[0-9a-fA-F]+|\d+))(?: ['<].*)?", text)
        if match is not None:
            return int(match[1], 0)
        if re.fullmatch(r"-?\d+\.\d+(e[-+]\d+)?", text):
            return float(text)
        return {"true": 1, "false": 0}.get(text, text)

    def assign(self, variable: str, value: object) -> None:
        """Write a variable, a register (`$r0`) or any other lvalue. Raises: as `evaluate`."""
        text = str(int(value)) if isinstance(value, bool) else str(value)
        self.session.debugger.command(f"-gdb-set var {variable} = {text}")

    def write_memory(self, address: int | str, data: bytes) -> None:
        """Write bytes to an address or to where an expression says. Raises: as `evaluate`."""
        place = f"{address:#x}" if isinstance(address, int) else quoted(address)
        self.session.debugger.command(f"-data-write-memory-bytes {place} {data.hex()}")

    def send(self, text: str) -> None:
        """Type to the guest's serial port; it reads when it runs."""
        self.session.guest.send(text.encode())

    @property
    def has_ended(self) -> bool:
        """Whether the program has ended."""
        return self.session.debugger.state == "ended"

    @property
    def console(self) -> str:
        """What the guest wrote so far."""
        return self.session.guest.text

    # Recording.

    @property
    def recording(self) -> RecordingContext:
        """The recording, and the commands below `trace`."""
        assert self._context is not None, "start the machine first"
        return self._context

    def trace(self, command: str | list[str]) -> str:
        """Run a command below `trace`, such as `start` or `callers malloc`; what it printed."""
        return self.recording.run(command)

    def workspace(self) -> Workspace:
        """The recording with its symbols, brought up to date."""
        return self.recording.workspace()

    def gdb(self, command: str, timeout_s: float = TIMEOUT_S) -> str:
        """Run a command of GDB's, `trace ...` too; what it printed.

        If it lets the program run, waits for the stop.
        """
        self._load_for(command)
        debugger = self.session.debugger
        said = len(self.log)
        debugger.console(command, timeout_s)
        debugger.settle(timeout_s)
        waits = debugger.state == "running" and not command.rstrip().endswith("&")
        if waits and self.session.wait_stop(time.monotonic() + timeout_s) is None:
            self._too_late(f"`{command}` does not stop", timeout_s)
        return "".join(self.log[said:])

    # What the session tells.

    def gdb_text(self, text: str) -> None:
        """GDB said something."""
        self.log.append(text)

    def stopped(self, stop: Stop) -> None:
        """The session remembers it."""

    def running(self) -> None:
        """The session remembers it."""

    def guest_output(self, data: bytes) -> None:
        """The console remembers it."""

    # Helpers.

    def _run_to(self, goal: Goal, timeout_s: float) -> Stop:
        deadline = time.monotonic() + timeout_s
        session = self.session
        if self.has_ended and isinstance(goal, ExitGoal):
            assert session.debugger.last_stop is not None
            return goal.judge(session.debugger.last_stop)
        if not goal.is_reached():
            session.resume("continue")
        session.loop.serve_ready()
        while not goal.is_reached():
            now = time.monotonic()
            if session.debugger.state != "running" or not session.guest.is_open:
                stop = session.wait_stop(deadline)
                if stop is not None:
                    return goal.judge(stop)
            if now >= deadline:
                return self._too_late(f"{goal.name} is not reached", timeout_s)
            until = min(deadline, now + goal.poll_s) if goal.poll_s is not None else deadline
            session.loop.wait(
                lambda: (
                    session.debugger.state != "running"
                    or not session.guest.is_open
                    or goal.is_noticed()
                ),
                until,
            )
        if session.debugger.state != "running":
            assert session.debugger.last_stop is not None
            return session.debugger.last_stop
        stop = session.interrupt()
        return stop if stop is not None else self._too_late("the program does not stop", 10.0)

    def _is_gone(self, number: int) -> bool:
        """Whether GDB has taken the temporary breakpoint out; it tells so after the stop."""
        self.session.debugger.command("-gdb-show confirm")
        return self.session.breakpoints.get(number) is None

    def _too_late(self, what: str, timeout_s: float) -> Stop:
        stop = self.session.interrupt()
        where = f"; {stop.describe()}" if stop is not None else "; it cannot be interrupted"
        raise ExpectationError(f"{what} within {timeout_s:g} s{where}")

    def _check_recording(self) -> None:
        with self.recording.control() as client:
            if not client.status().recording:
                raise UsageError("run-until insns counts recorded instructions; start recording")

    def _recorded_insns(self) -> int:
        # Only now: the command line's start does not need it.
        from gdbext.commands._saving import recorded_totals

        try:
            with self.recording.control() as client:
                client.sync()
        except ControlError:
            # It has just ended; what it left is counted.
            pass
        return recorded_totals(self.recording.recording_path())[0]

    def _stopped_at(self) -> int | None:
        stop = self.session.debugger.last_stop
        return stop.address if stop is not None else None

    def _load_for(self, text: str) -> None:
        """Load our commands into GDB if the text may use them; most sessions do without."""
        if "trace" in text:
            self.session.load_trace_commands()


def _place(address: int | str) -> str:
    return f"*{address:#x}" if isinstance(address, int) else f"*{address.lstrip('*')}"
