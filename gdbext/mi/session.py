# SPDX-License-Identifier: GPL-2.0-or-later
"""A debugging session: QEMU with the recorder, GDB connected to it, and the guest's console."""

from __future__ import annotations

import os
import sysconfig
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import gdbext
from gdbext.errors import DebuggerError, GdbextError, TargetError
from gdbext.mi.breakpoints import BreakpointTable
from gdbext.mi.debugger import Debugger, Listener
from gdbext.mi.guest import GuestConsole
from gdbext.mi.loop import Loop
from gdbext.mi.stops import Stop
from gdbext.mi.symbol_files import symbol_file_words
from gdbext.target.boot import attach_with_program, boot_for_gdb
from gdbext.target.gdb_binary import find_gdb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from gdbext.placed import PlacedElf
    from gdbext.target.attach import AttachedQemu, Attachment
    from gdbext.target.boards import Board
    from gdbext.target.launch import Emulator

__all__ = ["DebugSession", "SessionListener", "Setup"]

START_TIMEOUT_S: Final = 60.0
_NOTICE_TIMEOUT_S: Final = 2.0
"""How long GDB may take to see that QEMU has closed its connection."""


@dataclass(frozen=True)
class Setup:
    """What a session starts with."""

    board: Board
    elf: Path
    qemu_args: Sequence[str] = ()
    gdb_args: Sequence[str] = ()
    """Words added to GDB's command line."""
    init_files: bool = True
    """GDB reads the user's .gdbinit."""
    trace_commands: bool = True
    """Load the commands below `trace` at once; else `load_trace_commands` does."""
    quiet: bool = False
    """QEMU's own messages are not passed on to our standard error."""
    others: Sequence[PlacedElf] = ()
    """ELF files that run beside the program."""
    attachment: Attachment | None = None
    """The QEMU to work with, which runs already; None: start one."""


class SessionListener(Listener, Protocol):
    """Who wants to know what happens in a session."""

    def guest_output(self, data: bytes) -> None:
        """The guest wrote to its console."""


class DebugSession:
    """GDB and QEMU together. Close it, or use it in `with`: it ends both."""

    def __init__(self, setup: Setup, listener: SessionListener) -> None:
        self.setup = setup
        self.loop = Loop()
        self.guest = GuestConsole(self.loop, listener.guest_output)
        self.breakpoints = BreakpointTable()
        self._listener = listener
        self._debugger: Debugger | None = None
        self._emulator: Emulator | AttachedQemu | None = None
        self._has_trace_commands = False

    def __enter__(self) -> DebugSession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def debugger(self) -> Debugger:
        """GDB; the session must have been started."""
        assert self._debugger is not None, "start the session first"
        return self._debugger

    @property
    def emulator(self) -> Emulator | AttachedQemu:
        """QEMU; the session must have been started."""
        assert self._emulator is not None, "start the session first"
        return self._emulator

    def start(self) -> None:
        """Start both and connect them; the program stands at its first instruction.

        Raises:
            TargetError: one of them does not start.
            NativeError: the plugin for this QEMU has not been built.
        """
        # GDB reads the program while QEMU starts.
        self._start_gdb()
        self._start_qemu()
        self._set_up_gdb()
        self._connect()

    def restart(self) -> list[str]:
        """Start again what has ended, GDB or QEMU or both; if none has, QEMU.

        Breakpoints are kept. Returns lines for people about what could not be.

        Raises: as `start`.
        """
        gdb_ended = self._debugger is None or not self._debugger.is_alive
        qemu_ended = self._emulator is None or self._emulator.poll() is not None
        kept = self.breakpoints.all()
        if gdb_ended:
            if self._debugger is not None:
                self._debugger.close()
            self._start_gdb()
        if qemu_ended or not gdb_ended:
            if not gdb_ended and self.debugger.state in ("running", "stopped"):
                with suppress(DebuggerError):
                    self.debugger.command("-target-disconnect")
            if self._emulator is not None:
                self._emulator.close()
            self._start_qemu()
        lost: list[str] = []
        if gdb_ended:
            self.breakpoints.clear()
            self._set_up_gdb()
            self._connect()
            for breakpoint_ in kept:
                lost += self._set_again(breakpoint_.number, breakpoint_.commands())
        else:
            self._connect()
        return lost

    def close(self) -> None:
        """End GDB and QEMU, and remove the live recording; a QEMU that ran before runs on."""
        if self._debugger is not None:
            if self._emulator is not None and not self._emulator.is_ours:
                self._detach(self._debugger)
            self._debugger.close()
        if self._emulator is not None:
            self._emulator.close()
        self.guest.close()

    def load_trace_commands(self) -> None:
        """Make the commands below `trace` known to GDB; does nothing when they are.

        Raises:
            DebuggerError: this GDB cannot take them.
        """
        if not self._has_trace_commands:
            loader = Path(gdbext.__file__).resolve().parent / "gdb" / "load.py"
            self.debugger.console(f"source {loader}")
            self._has_trace_commands = True
            self._name_recorder()

    def resume(self, command: str, timeout_s: float | None = START_TIMEOUT_S) -> None:
        """Run a command of GDB's that lets the program run, such as `continue` or `step`.

        GDB takes other commands while it does.

        Raises:
            DebuggerError: GDB refuses it.
            TargetError: GDB or QEMU has ended.
        """
        self.check_target()
        try:
            self.debugger.console(f"{command} &", timeout_s)
        except DebuggerError:
            # A lost connection is told as a refusal; the reason is QEMU's end.
            self.debugger.check_alive()
            stop = self.debugger.last_stop
            if stop is not None and stop.reason == "lost":
                raise self.emulator.start_error() from None
            raise

    def wait_stop(self, deadline: float | None) -> Stop | None:
        """Wait until the program stops or ends; None at the deadline.

        Raises:
            TargetError: GDB has ended, or QEMU has without the program having ended.
        """

        def settled() -> bool:
            return self.debugger.state != "running" or not self.guest.is_open

        if not self.loop.wait(settled, deadline):
            return None
        if self.debugger.state == "running":
            self._notice_end()
        stop = self.debugger.wait_stop(deadline)
        if stop is not None and stop.has_ended:
            self._drain_guest()
        if stop is not None and stop.reason == "lost":
            return self._ended_without_gdb()
        return stop

    def interrupt(self, timeout_s: float = 10.0) -> Stop | None:
        """Stop the running program; None if it does not stop within that time.

        Raises: as `wait_stop`.
        """
        self.debugger.interrupt()
        return self.wait_stop(time.monotonic() + timeout_s)

    def check_target(self) -> None:
        """Raise TargetError if there is no program to run: it, GDB or QEMU has ended."""
        self.debugger.check_alive()
        stop = self.debugger.last_stop
        if self.debugger.state == "ended" and stop is not None and stop.reason != "lost":
            raise TargetError(f"{stop.describe()}; start it again")
        if self.emulator.poll() is not None:
            raise self.emulator.start_error()

    def exit_status(self, timeout_s: float = 10.0) -> int | None:
        """QEMU's exit status after the program's end; None if it still runs."""
        return self.emulator.wait(timeout_s)

    # Starting.

    def _start_gdb(self) -> None:
        setup = self.setup
        command = [str(find_gdb()), "-q", "--interpreter=mi3"]
        if not setup.init_files:
            command.append("-nx")
        if setup.board.gdb_architecture:
            command += ["-iex", f"set architecture {setup.board.gdb_architecture}"]
        command += [str(setup.elf), *symbol_file_words(setup.others), *setup.gdb_args]
        environment = {**os.environ, "GDBEXT_SITE_PACKAGES": sysconfig.get_path("purelib")}
        self._has_trace_commands = False
        self._debugger = Debugger(command, environment, self.loop, self._listener, self.breakpoints)

    def _set_up_gdb(self) -> None:
        debugger = self.debugger
        debugger.ready(START_TIMEOUT_S)
        # Nobody is there to answer questions or to press a key for the next page.
        for setting in ("mi-async on", "pagination off", "confirm off"):
            debugger.command(f"-gdb-set {setting}")
        if self.setup.trace_commands:
            self.load_trace_commands()

    def _start_qemu(self) -> None:
        setup = self.setup
        if setup.attachment is not None:
            self._emulator = attach_with_program(
                setup.attachment, setup.board, setup.elf, setup.others
            )
            self.guest.open_foreign(self._emulator.end_descriptor)
            return
        guest_input, guest_output = self.guest.open()
        try:
            self._emulator = boot_for_gdb(
                self.setup.board,
                self.setup.elf,
                extra_args=self.setup.qemu_args,
                others=self.setup.others,
                stdin=guest_input,
                stdout=guest_output,
                quiet=self.setup.quiet,
            )
        finally:
            os.close(guest_input)
            os.close(guest_output)

    def _connect(self) -> None:
        self._name_recorder()
        address = self.emulator.gdb_address
        self.debugger.command(f"-target-select remote {address}", START_TIMEOUT_S)

    def _name_recorder(self) -> None:
        if self._has_trace_commands:
            self.debugger.console(f"set gdbext control {self.emulator.control_path}")

    def _set_again(self, number: int, commands: list[str] | None) -> list[str]:
        if commands is None:
            return [f"breakpoint {number} cannot be set again by itself"]
        try:
            for command in commands:
                self.debugger.console(command)
        except DebuggerError as error:
            return [f"breakpoint {number} is lost: {error}"]
        return []

    # Ending.

    def _detach(self, debugger: Debugger) -> None:
        """Let an attached QEMU run on without GDB and its breakpoints, as GDB does at its end."""
        with suppress(GdbextError):
            if debugger.is_alive and debugger.state == "running":
                self.interrupt(_NOTICE_TIMEOUT_S)
            if debugger.is_alive and debugger.state == "stopped":
                debugger.command("-target-detach", _NOTICE_TIMEOUT_S)

    def _notice_end(self) -> None:
        """QEMU has closed its output while the program ran: let GDB see it, or tell it."""
        self.debugger.wait_stop(time.monotonic() + _NOTICE_TIMEOUT_S)
        if self.debugger.state == "running":
            self.debugger.lost_target()

    def _ended_without_gdb(self) -> Stop:
        """QEMU ended without telling GDB, as some devices make it do: its status is the guest's."""
        status = self.emulator.wait(_NOTICE_TIMEOUT_S)
        if status is None or status < 0:
            raise self.emulator.start_error()
        stop = Stop("exited", exit_status=status)
        self.debugger.last_stop = stop
        return stop

    def _drain_guest(self) -> None:
        """Take what an ended program wrote last."""
        self.loop.wait(lambda: not self.guest.is_open, time.monotonic() + _NOTICE_TIMEOUT_S)
