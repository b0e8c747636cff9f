# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of a line that is typed: ours, the shell's or GDB's; and waiting for the program."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gdbext.errors import DebuggerError, GdbextError, TargetError, UsageError
from gdbext.mi.session import DebugSession, Setup
from gdbext.render.numbers import counted
from gdbext.repl.blocks import Blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from gdbext.mi.stops import Stop
    from gdbext.repl.screen import Screen

__all__ = ["OWN_COMMANDS", "Shell"]

OWN_COMMANDS: Final = {
    "restart": "Start again what has ended, or else QEMU; breakpoints are kept.",
    "send": "Type TEXT and a line end to the guest's console: send TEXT.",
    "source": "Do what a file says, line by line; .py files are GDB's: source FILE.",
    "quit": "End GDB and QEMU, with an exit status if one is given: quit [STATUS].",
}

# Commands that let the program run, with their short forms (GDB's manual, "Continuing and
# Stepping"): they are sent to run in the background, so that GDB goes on listening.
_RUNNERS: Final = frozenset(
    (
        *("continue", "c", "fg", "step", "s", "next", "n", "stepi", "si", "nexti", "ni"),
        *("finish", "fin", "until", "u", "advance", "jump", "j", "signal"),
    )
)
# An empty line does these again, as it does in GDB.
_REPEATED: Final = frozenset(
    (
        *("continue", "c", "step", "s", "next", "n", "stepi", "si", "nexti", "ni"),
        *("until", "u", "list", "l", "x", "up", "down"),
    )
)
_TWICE_S: Final = 1.0
"""Two Ctrl-C within this time give up waiting."""
_LEFTOVER_S: Final = 0.3
_AGAIN_S: Final = 0.2
"""Between two interruptions of a GDB that does not notice."""
_MAX_SOURCE_DEPTH: Final = 20


class Shell:
    """The session behind the prompt. It listens to GDB and the guest, and shows what they say."""

    def __init__(self, setup: Setup, screen: Screen) -> None:
        self.session = DebugSession(setup, self)
        self.screen = screen
        self.exit_status: int | None = None
        """Set by `quit`: what the REPL ends with."""
        self._again = ""
        self._sources: list[Path] = []
        self._interrupted = False
        self._told_gdb = self._told_qemu = False

    def start(self) -> None:
        """Start GDB and QEMU. Raises: as `DebugSession.start`."""
        self.session.start()

    def close(self) -> None:
        """End both."""
        self.session.close()
        self.screen.flush_guest()
        self.screen.line_start()

    # Lines.

    def execute(self, text: str) -> None:
        """Do what was typed: a command, a block, or several lines that were pasted.

        Raises:
            GdbextError: something cannot be done; the rest is left undone.
        """
        blocks = Blocks()
        for line in text.splitlines() or [""]:
            command = blocks.add(line)
            if command is not None:
                self._command(command)
            if self.exit_status is not None:
                return
        if blocks.is_open:
            raise UsageError("a block has no `end`")

    def run_file(self, path: Path) -> None:
        """Do what a file says.

        Raises:
            GdbextError: it cannot be read, or a command fails; FILE:LINE says where.
        """
        if len(self._sources) >= _MAX_SOURCE_DEPTH:
            raise UsageError(f"{path}: files source one another more than 20 deep")
        if path.suffix == ".py":
            self._gdb(f"source {path}")
            return
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise TargetError(f"{path}: cannot be read: {reason}") from error
        self._sources.append(path)
        try:
            self.run_lines(lines, str(path))
        finally:
            self._sources.pop()

    def run_lines(self, lines: Iterator[str] | list[str], name: str) -> None:
        """Do lines until one fails or quits. Raises: as `run_file`, with NAME:LINE."""
        blocks = Blocks()
        first = 1
        for number, line in enumerate(lines, 1):
            if not blocks.is_open:
                first = number
            command = blocks.add(line.rstrip("\n"))
            if command is None or not command.strip():
                continue
            try:
                self._command(command)
            except GdbextError as error:
                raise type(error)(f"{name}:{first}: {error}") from error
            if self.exit_status is not None:
                return
        if blocks.is_open:
            raise UsageError(f"{name}:{first}: a block has no `end`")

    def _command(self, command: str) -> None:
        stripped = command.strip()
        if not stripped:
            stripped = self._again
        word, _, rest = stripped.partition(" ")
        self._again = stripped if word.split("/")[0] in _REPEATED else ""
        if not stripped or stripped.startswith("#"):
            return
        if stripped.startswith("!"):
            self._shell(stripped[1:].strip())
        elif word in ("quit", "q", "exit"):
            self._quit(rest.strip())
        elif word == "restart":
            self._restart()
        elif word == "send":
            self.session.guest.send((rest + "\n").encode())
        elif word == "source" and rest.strip() and not rest.strip().startswith("-"):
            self.run_file(Path(shlex.split(rest)[0]).expanduser())
        elif "\n" in stripped:
            self._block(command)
        else:
            self._gdb(stripped)

    def _quit(self, status: str) -> None:
        if status and not status.isdigit():
            raise UsageError(f"quit: '{status}' is no exit status")
        self.exit_status = int(status or "0") & 0xFF

    def _shell(self, line: str) -> None:
        if not line:
            raise UsageError("!: give a command for the shell")
        with _terminal_signals_left_alone():
            status = subprocess.run(line, shell=True, check=False).returncode
        if status != 0:
            raise UsageError(f"!{line}: exit status {status}")

    def _restart(self) -> None:
        lost = self.session.restart()
        self._told_gdb = self._told_qemu = False
        for line in lost:
            self.screen.note(line)
        stop = self.session.debugger.last_stop
        if stop is not None:
            self.screen.note(
                f"started again; {counted(len(self.session.breakpoints), 'breakpoint')}"
            )

    def _block(self, command: str) -> None:
        """GDB would ask for the lines one by one; from a file it reads them all."""
        with tempfile.NamedTemporaryFile("w", suffix=".gdb", encoding="utf-8") as file:
            file.write(command + "\n")
            file.flush()
            self._gdb(f"source {file.name}")

    def _gdb(self, line: str) -> None:
        """A command of GDB's; waits for the stop, unless it ends in `&`."""
        word = line.split()[0]
        debugger = self.session.debugger
        in_background = line.rstrip().endswith("&")
        try:
            with self._interrupts(), self._streaming():
                if word in _RUNNERS and not in_background:
                    self.session.resume(line, None)
                    self._wait_stop()
                    return
                self._check_listening()
                try:
                    debugger.console(line, None)
                    debugger.settle(None)
                except DebuggerError:
                    self._stop_leftover()
                    raise
                if self._interrupted:
                    self._stop_leftover()
                if not in_background:
                    self._wait_stop()
        except _GivenUpError:
            self.screen.note("not waited for any longer; the program may still run")

    def _check_listening(self) -> None:
        if not self.session.debugger.is_listening:
            raise DebuggerError("the program runs, and GDB waits for it; Ctrl-C interrupts it")

    # Waiting.

    def _wait_stop(self) -> None:
        """Wait for the stop of a program that runs."""
        if self.session.debugger.state in ("running", "ended"):
            stop = self.session.wait_stop(None)
            self._told_qemu = stop is not None and stop.has_ended

    def _stop_leftover(self) -> None:
        """A script that was interrupted may leave the program running between two steps: stop it.

        Raises:
            TargetError: GDB has ended.
        """
        debugger = self.session.debugger
        if debugger.wait_stop(time.monotonic() + _LEFTOVER_S) is None and (
            debugger.look() == "running"
        ):
            self.session.interrupt()

    @contextmanager
    def _streaming(self) -> Iterator[None]:
        """What the guest writes is shown as it comes, not line by line."""
        self.screen.whole_lines = False
        try:
            yield
        finally:
            self.screen.whole_lines = True

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Ctrl-C interrupts the target; a second one, soon after, gives up waiting."""
        self._interrupted = False
        pressed: list[float] = []
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

        def note(number: int, _frame: FrameType | None) -> None:
            # Only noted here: the loop must not be left in the middle of a piece of work.
            with suppress(BlockingIOError):
                os.write(wake_write, bytes([number]))

        def react() -> None:
            n_pressed = os.read(wake_read, 64).count(signal.SIGINT)
            if not n_pressed:
                # A script that steps may miss the signal: GDB takes it for the step's end.
                if self.session.debugger.is_busy:
                    self.session.debugger.interrupt_at_once()
                return
            now = time.monotonic()
            if n_pressed > 1 or (pressed and now - pressed[-1] < _TWICE_S):
                raise _GivenUpError
            pressed.append(now)
            self._interrupted = True
            self.session.debugger.interrupt_at_once()
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)

        self.session.loop.watch(wake_read, react)
        watched = (signal.SIGINT, signal.SIGALRM)
        before = {number: signal.signal(number, note) for number in watched}
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)
            self.session.loop.forget(wake_read)
            os.close(wake_read)
            os.close(wake_write)

    # What the session tells.

    def gdb_text(self, text: str) -> None:
        """Show it."""
        self.screen.gdb(text)

    def stopped(self, stop: Stop) -> None:
        """GDB's own words tell of it; what the guest wrote last comes before them."""

    def running(self) -> None:
        """The status line tells it."""

    def guest_output(self, data: bytes) -> None:
        """Show it."""
        self.screen.guest(data)

    def readers(self) -> dict[int, Callable[[], None]]:
        """What another event loop has to serve while it waits for typing."""
        return {
            descriptor: lambda reader=reader: self._serve(reader)  # type: ignore[misc]
            for descriptor, reader in self.session.loop.readers().items()
        }

    def _serve(self, reader: Callable[[], None]) -> None:
        reader()
        self.tell_ends()

    def tell_ends(self) -> None:
        """Say once that GDB or QEMU has gone, if it has."""
        debugger = self.session.debugger
        if not debugger.is_alive and not self._told_gdb:
            self._told_gdb = True
            self.screen.error(f"{debugger.end_text()}; `restart` starts it again, breakpoints kept")
        if not self.session.guest.is_open and not self._told_qemu:
            self._told_qemu = True
            stop = debugger.last_stop
            if stop is None or not stop.has_ended:
                error = self.session.emulator.start_error()
                self.screen.error(f"{error}; `restart` starts it again, breakpoints kept")


class _GivenUpError(Exception):
    """The user does not want to wait any longer."""


@contextmanager
def _terminal_signals_left_alone() -> Iterator[None]:
    """Ctrl-C and Ctrl-\\ are for the command that runs in the terminal."""
    watched = (signal.SIGINT, signal.SIGQUIT)
    before = {n: signal.signal(n, lambda _number, _frame: None) for n in watched}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
