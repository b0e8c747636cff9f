# SPDX-License-Identifier: GPL-2.0-or-later
"""GDB as one talks to it: commands with answers, stops as events, and what state it is in."""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from gdbext.errors import DebuggerError, TargetError
from gdbext.mi.breakpoints import BreakpointTable
from gdbext.mi.process import GdbProcess
from gdbext.mi.records import Record, quoted
from gdbext.mi.stops import Stop, stop_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdbext.mi.loop import Loop

__all__ = ["COMMAND_TIMEOUT_S", "Debugger", "Listener", "State"]

State = Literal["idle", "stopped", "running", "ended", "dead"]
"""`idle`: no program yet; `ended`: the program has; `dead`: GDB itself has."""

COMMAND_TIMEOUT_S: Final = 120.0
"""For a command that is not told how long it may take: a large recording may take a while."""

_INTERRUPT_TIMEOUT_S: Final = 5.0


class Listener(Protocol):
    """Who wants to know what happens."""

    def gdb_text(self, text: str) -> None:
        """GDB said something, in the course of a command or by itself."""

    def stopped(self, stop: Stop) -> None:
        """The program has stopped or ended."""

    def running(self) -> None:
        """The program runs."""


class Debugger:
    """One GDB process, from its start to its end."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        loop: Loop,
        listener: Listener,
        breakpoints: BreakpointTable,
    ) -> None:
        """Start GDB; `ready` waits for it.

        Args:
            command: its command line, with the MI interpreter.
            breakpoints: filled with what this GDB tells; it outlives it.

        Raises:
            TargetError: it cannot be executed.
        """
        self.state: State = "idle"
        self.last_stop: Stop | None = None
        self.n_stops = 0
        self._breakpoints = breakpoints
        self._loop = loop
        self._listener = listener
        self._process = GdbProcess(command, environment)
        self._tokens = count(1)
        self._results: dict[int, Record] = {}
        self._waiting = 0
        self._text: list[str] | None = None
        self._log = ""
        self._greeted = False
        self._foreground = False
        """The program runs by a command of the console: until its stop GDB reads no other."""
        self._watched = self._process.descriptors()
        for descriptor in self._watched:
            loop.watch(descriptor, self._read)

    @property
    def pid(self) -> int:
        """GDB's process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether GDB runs, to be sure of it now."""
        if self.state != "dead" and self._process.has_ended():
            self._read()
        return self.state != "dead"

    @property
    def is_busy(self) -> bool:
        """Whether a command waits for its result."""
        return self._waiting > 0

    @property
    def is_listening(self) -> bool:
        """Whether GDB takes commands now: not while a console command keeps the program running."""
        return not (self._foreground and self.state == "running")

    def ready(self, timeout_s: float) -> None:
        """Wait until GDB takes commands.

        Raises:
            TargetError: it does not within that time, or ends.
        """
        deadline = time.monotonic() + timeout_s
        if not self._loop.wait(lambda: self._greeted or self.state == "dead", deadline):
            raise TargetError(f"{self._process.name}: does not come up within {timeout_s:g} s")
        self.check_alive()

    def check_alive(self) -> None:
        """Raise how it ended, if it has."""
        if not self.is_alive:
            raise self._process.end_error()

    def command(self, line: str, timeout_s: float | None = COMMAND_TIMEOUT_S) -> Mapping[str, Any]:
        """Send an MI command and wait for its result; the result's fields.

        A command that takes too long (None: nothing does) is interrupted, and GDB is ended if that
        does not help: the next one would have to wait for it.

        Raises:
            DebuggerError: GDB refuses it.
            TargetError: GDB has ended, or does not answer.
        """
        self.check_alive()
        token = next(self._tokens)
        try:
            self._process.write(f"{token}{line}")
        except TargetError:
            self._loop.wait(lambda: not self.is_alive, time.monotonic() + _INTERRUPT_TIMEOUT_S)
            raise
        self._waiting += 1
        try:
            result = self._result(token, line, timeout_s)
        finally:
            self._waiting -= 1
            self._results.pop(token, None)
        if result.message == "error":
            # Given up half-way: GDB listens again, even if the program runs.
            self._foreground = False
            raise DebuggerError(_one_line(str(result.fields.get("msg", "GDB does not say why"))))
        if result.message == "exit":
            self.state = "dead"
        return result.fields

    def console(self, line: str, timeout_s: float | None = COMMAND_TIMEOUT_S) -> str:
        """Run a command as if it were typed at GDB's prompt; what GDB printed until its result.

        A command that lets the program run returns when it runs. Then GDB takes no other command
        before the next stop, unless it ends with `&` (GDB's manual, "Background Execution").
        Raises: as `command`.
        """
        outer, self._text = self._text, []
        try:
            self.command(f"-interpreter-exec console {quoted(line)}", timeout_s)
            self._foreground = self._foreground and not line.rstrip().endswith("&")
            return "".join(self._text)
        finally:
            self._text = outer

    def settle(self, timeout_s: float | None) -> None:
        """Wait until GDB listens again after a console command that let the program run.

        Such a command may go on after the first stop: a script, or a loop of steps. GDB reads the
        next one when it is done.

        Raises:
            TargetError: it is not within that time, and was interrupted; or GDB has ended.
        """
        if self._foreground:
            self.command("-gdb-show confirm", timeout_s)
            self._foreground = False

    def look(self) -> State:
        """Ask GDB whether the program runs: one that was interrupted in a script does not tell."""
        threads = self.command("-thread-info", _INTERRUPT_TIMEOUT_S).get("threads", [])
        if threads and self.state == "running":
            first = threads[0]
            if isinstance(first, dict) and first.get("state") == "stopped":
                self._take_stop(stop_of({"reason": "interrupted", "frame": first.get("frame")}))
        return self.state

    def evaluate(self, expression: str, timeout_s: float = COMMAND_TIMEOUT_S) -> str:
        """GDB's text for the value of an expression. Raises: as `command`."""
        answer = self.command(f"-data-evaluate-expression {quoted(expression)}", timeout_s)
        return str(answer.get("value", ""))

    def interrupt(self) -> None:
        """Stop the program or the command that GDB is busy with; the stop comes as an event."""
        if self.is_busy or not self.is_listening:
            self._process.interrupt()
        elif self.state == "running":
            self.command("-exec-interrupt --all", _INTERRUPT_TIMEOUT_S)

    def interrupt_at_once(self) -> None:
        """As `interrupt`, without waiting for an answer: for readers of the loop."""
        if self.is_busy or not self.is_listening:
            self._process.interrupt()
        elif self.state == "running":
            self._process.write("-exec-interrupt --all")

    def end_text(self) -> str:
        """How GDB ended, in words."""
        return str(self._process.end_error())

    def wait_stop(self, deadline: float | None) -> Stop | None:
        """Wait until the program does not run; its last stop, or None at the deadline.

        Raises:
            TargetError: GDB has ended.
        """
        if not self._loop.wait(lambda: self.state != "running", deadline):
            return None
        self.check_alive()
        return self.last_stop

    def lost_target(self) -> None:
        """QEMU has gone and GDB may not have noticed: it is not connected any more."""
        if self.state in ("running", "stopped"):
            self._take_stop(Stop("lost"))

    def close(self) -> None:
        """End GDB at once."""
        for descriptor in self._watched:
            self._loop.forget(descriptor)
        self._process.close()
        self.state = "dead"

    def _result(self, token: int, line: str, timeout_s: float | None) -> Record:
        def answered() -> bool:
            return token in self._results or self.state == "dead"

        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        if not self._loop.wait(answered, deadline):
            self._process.interrupt()
            if not self._loop.wait(answered, time.monotonic() + _INTERRUPT_TIMEOUT_S):
                self.close()
            ended = "; it was ended" if self.state == "dead" else ""
            assert timeout_s is not None
            raise TargetError(
                f"{self._process.name}: no answer to `{line}` within {timeout_s:g} s{ended}"
            )
        if token not in self._results:
            raise self._process.end_error()
        return self._results[token]

    def _read(self) -> None:
        # Asked before the reading: what it wrote until its end is read in any case.
        has_ended = self._process.has_ended()
        for record in self._process.records():
            self._take(record)
        open_now = self._process.descriptors()
        for descriptor in self._watched:
            if descriptor not in open_now:
                self._loop.forget(descriptor)
        if has_ended:
            self.state = "dead"
            for descriptor in self._watched:
                self._loop.forget(descriptor)

    def _take(self, record: Record) -> None:
        log, self._log = self._log, ""
        if record.kind == "log":
            self._log = log + record.text
            return
        refused = record.kind == "result" and record.message == "error"
        if log.strip() and not (refused and log.strip() == record.fields.get("msg", "").strip()):
            # An error is on the log as well as in the result: once is enough.
            self._say(log)
        if record.kind == "result":
            if record.message == "running":
                self._foreground = self._text is not None
                self._take_running()
            self._breakpoints.take(record.fields)
            if record.token is not None:
                self._results[record.token] = record
        elif record.kind == "notify":
            self._take_notification(record)
        elif record.kind == "done":
            self._greeted = True
        elif record.text:
            # What `shell` commands print comes without MI's dress, and without its line end.
            self._say(record.text + "\n" if record.kind == "output" else record.text)

    def _say(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)
        self._listener.gdb_text(text)

    def _take_notification(self, record: Record) -> None:
        if record.message == "running":
            self._take_running()
        elif record.message == "stopped":
            self._take_stop(stop_of(record.fields))
        elif record.message in ("breakpoint-created", "breakpoint-modified"):
            self._breakpoints.take(record.fields)
        elif record.message == "breakpoint-deleted":
            self._breakpoints.remove(str(record.fields.get("id", "")))
        elif record.message == "thread-group-exited" and self.state in ("running", "stopped"):
            # Comes before the `stopped` of an end, and alone when the connection broke.
            code = record.fields.get("exit-code")
            if code is None:
                self._take_stop(Stop("lost"))

    def _take_running(self) -> None:
        if self.state != "running":
            self.state = "running"
            self._listener.running()

    def _take_stop(self, stop: Stop) -> None:
        self.state = "ended" if stop.has_ended else "stopped"
        self.last_stop = stop
        self.n_stops += 1
        self._listener.stopped(stop)


def _one_line(text: str) -> str:
    return " ".join(text.split())
