# SPDX-License-Identifier: GPL-2.0-or-later
"""Starting QEMU with the recorder: in its own process session, and never left behind."""

from __future__ import annotations

import os
import select
import stat
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gdbext.errors import ControlError, TargetError
from gdbext.target.control import ControlClient, Hello
from gdbext.target.filter import EVERYTHING, RecordingFilter
from gdbext.target.ports import is_listening
from gdbext.target.runtime import make_session_directory, remove_session_directory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import IO

__all__ = ["NO_OPTIONS", "Emulator", "RecorderOptions", "launch", "qemu_command"]

GRACE_S: Final = 5.0
"""How long QEMU has from SIGTERM to its own end; then SIGKILL."""

READY_TIMEOUT_S: Final = 30.0

SETTLE_S: Final = 0.2
"""A QEMU that cannot make its machine ends within this time after it has loaded the plugin."""

_WATCHDOG = Path(__file__).with_name("watchdog.py")


@dataclass(frozen=True)
class RecorderOptions:
    """Options of the plugin (docs/control.md, "Plugin options")."""

    record: bool = False
    """Record from the first block."""
    insns: int = 0
    """Stop recording at the first block end at or after so many instructions; 0: no limit."""
    level: int | None = None
    """zstd level; None: the plugin's default."""
    probes: bool = True
    """Read a few registers where handlers begin and end."""
    vectors: int = 0
    """Address of the vector table that a Cortex-M begins with."""
    ring: int = 0
    """Bytes of chunks to keep; 0: all."""
    filter: RecordingFilter = EVERYTHING
    """What is recorded."""

    def argument(self, plugin: Path, directory: Path) -> str:
        """The word after `-plugin`. Commas in paths are doubled, as QEMU wants it."""
        parts = [_escaped(plugin), f"dir={_escaped(directory)}"]
        if self.record:
            parts.append("record=on")
        if self.insns:
            parts.append(f"insns={self.insns}")
        if self.level is not None:
            parts.append(f"level={self.level}")
        if not self.probes:
            parts.append("probes=off")
        if self.vectors:
            parts.append(f"vectors={self.vectors:#x}")
        if self.ring:
            parts.append(f"ring={self.ring}")
        if self.filter:
            parts.append(f"filter={_escaped(directory / FILTER_FILE)}")
        return ",".join(parts)


NO_OPTIONS: Final = RecorderOptions()
FILTER_FILE: Final = "filter"
"""In the session's directory: the requests that set the filter."""


def qemu_command(
    qemu: Path,
    board_args: Sequence[str],
    plugin_argument: str,
    *,
    gdb: str | None = None,
    extra_args: Sequence[str] = (),
    user_mode: bool = False,
) -> list[str]:
    """The whole command line of QEMU.

    Args:
        gdb: character device for the GDB stub (then the machine waits, halted); None: no stub.
        extra_args: the user's, last, so that they win.
        user_mode: QEMU runs a single program, whose arguments `extra_args` are.
    """
    if user_mode:
        return [str(qemu), "-plugin", plugin_argument, *board_args, *extra_args]
    command = [str(qemu), *board_args, "-plugin", plugin_argument]
    if gdb is not None:
        command += ["-S", "-gdb", gdb]
    return [*command, *extra_args]


@dataclass
class Emulator:
    """A running QEMU with the recorder. Close it, or use it in `with`: it ends QEMU."""

    command: list[str]
    directory: Path
    """The session's directory: the live recording and its `control`."""
    gdb_port: int | None
    """Where the GDB stub listens on the loopback interface; None without a stub."""
    pid: int
    """QEMU's process id."""
    _watchdog: subprocess.Popen[bytes]
    _pipe: int
    _output: _Output
    keep_directory: bool = False
    """`close` leaves the directory."""
    is_ours = True
    _closed: bool = field(default=False, init=False)

    def __enter__(self) -> Emulator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def control_path(self) -> Path:
        """The recorder's control socket."""
        return self.directory / "control"

    @property
    def gdb_address(self) -> str:
        """For GDB's `target remote`."""
        return f"127.0.0.1:{self.gdb_port}"

    def control(self, timeout_s: float | None = None) -> ControlClient:
        """A new client of the recorder."""
        if timeout_s is None:
            return ControlClient(self.control_path)
        return ControlClient(self.control_path, timeout_s)

    def poll(self) -> int | None:
        """QEMU's exit status if it has ended (minus the signal number if it was killed)."""
        return self._watchdog.poll()

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for QEMU's end; its exit status, or None after `timeout_s`."""
        try:
            status = self._watchdog.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        self._output.drain()
        return status

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> Hello | None:
        """Wait until the recorder answers, and the GDB stub listens if there is one.

        Returns None if QEMU has ended before it could be asked (a guest may be that quick). Until
        then its stderr is held back: `start_error` may have to tell it in one line.

        Raises:
            TargetError: nothing answers within `timeout_s`, or a QEMU that should wait for GDB
                ended; then with what QEMU said last.
        """
        deadline = time.monotonic() + timeout_s
        hello: Hello | None = None
        while True:
            ended = self.poll() is not None
            if hello is None and self.control_path.exists():
                # Bound but not yet listening, or going away: try again until the deadline.
                with suppress(ControlError), self.control(timeout_s) as client:
                    hello = client.hello()
            if hello is not None and (self.gdb_port is None or is_listening(self.gdb_port)):
                # The plugin is loaded before the machine is made; that may still fail.
                if self.gdb_port is None and self.wait(SETTLE_S) is not None:
                    return hello
                self._output.open_gate()
                return hello
            if ended:
                if self.gdb_port is not None:
                    raise self.start_error()
                return hello
            if time.monotonic() > deadline:
                raise TargetError(
                    f"{self.command[0]}: the recorder does not answer within {timeout_s:g} s at "
                    f"{self.control_path}"
                )
            time.sleep(0.01)

    def start_error(self) -> TargetError:
        """How QEMU ended and what it said last, as an error; what was held back is dropped."""
        status = self.wait()
        assert status is not None
        self._output.drop()
        how = f"ended by signal {-status}" if status < 0 else f"ended with status {status}"
        said = self._output.last_line() or "it said nothing"
        name = Path(self.command[0]).name
        said = said.removeprefix(f"{self.command[0]}: ").removeprefix(f"{name}: ")
        return TargetError(f"{name} {how}: {said}")

    def recorder_said(self) -> str:
        """Why the recorder stopped, as it said on stderr; empty if it did not."""
        marks = ("gdbext: recording stopped: ", "gdbext: recording not possible: ")
        said = [line for line in self._output.lines() if line.startswith(marks)]
        return said[-1].split(": ", 2)[2] if said else ""

    def terminate(self) -> None:
        """Ask QEMU to end; it writes the END of the recording. SIGKILL follows if it does not."""
        self._command(b"t")

    def kill(self) -> None:
        """End QEMU at once; what was recorded stays in the live directory."""
        self._command(b"k")

    def close(self) -> None:
        """End QEMU if it runs, wait for it, and remove the session's directory."""
        if self._closed:
            return
        self._closed = True
        if self.poll() is None:
            # It would say that a signal ended it: everybody knows.
            self._output.mute()
            self.terminate()
        os.close(self._pipe)
        self._watchdog.wait()
        self._output.drain()
        self._output.open_gate()
        if not self.keep_directory:
            remove_session_directory(self.directory)

    def _command(self, byte: bytes) -> None:
        if self.poll() is None:
            # It may end between the question and the writing.
            with suppress(BrokenPipeError):
                os.write(self._pipe, byte)


def launch(
    qemu: Path,
    board_args: Sequence[str],
    plugin: Path,
    *,
    label: str,
    recorder: RecorderOptions = NO_OPTIONS,
    gdb_port: int | None = None,
    extra_args: Sequence[str] = (),
    data_directory: Path | None = None,
    stdin: int | None = None,
    stdout: int = 1,
    quiet: bool = False,
    environment: Mapping[str, str] | None = None,
    user_mode: bool = False,
) -> Emulator:
    """Start QEMU with the recorder and return at once; `Emulator.wait_ready` waits for it.

    Args:
        board_args: the board's arguments, ELF path filled in.
        label: names the session's directory.
        gdb_port: halt at the first instruction and serve GDB there, on the loopback interface.
            (On a Unix socket the guest's exit reaches GDB as a broken connection: it cannot
            acknowledge QEMU's last packet any more.)
        data_directory: where the recording's bytes shall lie (`make_session_directory`).
        stdin, stdout: file descriptors for QEMU; None: /dev/null. Its stderr goes through us to
            ours, unless `quiet`.
        environment: variables that QEMU needs beside ours.
        user_mode: see `qemu_command`.

    Raises:
        TargetError: QEMU cannot be executed, or there is no place for the directory.
    """
    directory = make_session_directory(label, data_directory)
    try:
        if recorder.filter:
            lines = "".join(f"{request}\n" for request in recorder.filter.requests())
            (directory / FILTER_FILE).write_text(lines)
        command = qemu_command(
            qemu,
            board_args,
            recorder.argument(plugin, directory),
            gdb=f"tcp:127.0.0.1:{gdb_port}" if gdb_port is not None else None,
            extra_args=extra_args,
            user_mode=user_mode,
        )
        watchdog, pipe, pid = _start_watchdog(command, stdin, stdout, environment or {})
    except BaseException:
        remove_session_directory(directory)
        raise
    assert watchdog.stderr is not None
    return Emulator(
        command=command,
        directory=directory,
        gdb_port=gdb_port,
        pid=pid,
        _watchdog=watchdog,
        _pipe=pipe,
        _output=_Output(watchdog.stderr, quiet),
    )


def _start_watchdog(
    command: list[str], stdin: int | None, stdout: int, environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], int, int]:
    """Start `watchdog.py`; its process, our end of the command pipe, and QEMU's process id."""
    # QEMU's variables (a library path, say) are not for the watchdog's Python: `env` sets them,
    # and becomes QEMU.
    variables = [f"{name}={value}" for name, value in environment.items()]
    if variables:
        command = ["env", *variables, *command]
    command_read, command_write = os.pipe2(os.O_CLOEXEC)
    report_read, report_write = os.pipe2(os.O_CLOEXEC)
    descriptors = [command_read, report_write]
    try:
        streams = []
        for number, flags in ((stdin, os.O_RDONLY), (stdout, os.O_WRONLY)):
            streams.append(_own_description(number, flags))
            descriptors.append(streams[-1])
        watchdog = subprocess.Popen(
            [
                _python(),
                "-I",
                "-S",
                str(_WATCHDOG),
                str(command_read),
                str(report_write),
                f"{GRACE_S}",
                *command,
            ],
            stdin=streams[0],
            stdout=streams[1],
            stderr=subprocess.PIPE,
            pass_fds=(command_read, report_write),
            start_new_session=True,
        )
    except OSError as error:
        os.close(command_write)
        os.close(report_read)
        raise TargetError(f"{error.filename}: cannot start: {error.strerror}") from error
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    with os.fdopen(report_read, "rb") as report:
        line = report.read().decode(errors="replace").strip()
    word, _, rest = line.partition(" ")
    if word == "pid":
        return watchdog, command_write, int(rest)
    os.close(command_write)
    _, said = watchdog.communicate()
    raise TargetError(rest or f"QEMU's watchdog failed: {said.decode(errors='replace').strip()}")


def _own_description(number: int | None, flags: int) -> int:
    """A descriptor for QEMU that shares no open file description with ours where that matters.

    QEMU makes its standard streams non-blocking. That is a property of the description, so it
    would hit us, GDB and the shell on the same terminal or pipe; opened anew, it is QEMU's alone.
    """
    if number is None:
        return os.open(os.devnull, flags)
    mode = os.fstat(number).st_mode
    if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
        # It may belong to another user (after su): then it has to be shared.
        with suppress(OSError):
            return os.open(f"/proc/self/fd/{number}", flags | os.O_NOCTTY)
    return os.dup(number)


def _python() -> str:
    """A Python for the watchdog; inside GDB sys.executable may be empty or GDB itself."""
    executable = sys.executable
    if executable and "python" in Path(executable).name:
        return executable
    return "python3"


def _escaped(path: Path) -> str:
    return str(path).replace(",", ",,")


class _Output:
    """QEMU's stderr on its way to ours: held back until QEMU is ready, last lines remembered.

    Held back because a QEMU that fails at its start is reported as one line of ours.
    """

    def __init__(self, stream: IO[bytes], quiet: bool) -> None:
        self._stream = stream
        self._quiet = quiet
        self._lines: deque[bytes] = deque(maxlen=20)
        self._partial = b""
        self._held: list[bytes] | None = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._copy, name="qemu-stderr", daemon=True)
        self._thread.start()

    def open_gate(self) -> None:
        """Pass on what was held back, and all that follows."""
        with self._lock:
            if self._held is not None:
                self._write(b"".join(self._held))
                self._held = None

    def mute(self) -> None:
        """Pass on nothing that comes from now on."""
        self.open_gate()
        self._quiet = True

    def drop(self) -> None:
        """Forget what is held back."""
        with self._lock:
            if self._held is not None:
                self._held.clear()

    def drain(self) -> None:
        """Wait until all of an ended QEMU's output has been read."""
        self._thread.join(timeout=2.0)

    def lines(self) -> list[str]:
        """The last lines, without empty ones."""
        with self._lock:
            raw = [*self._lines, self._partial]
        return [line for line in (piece.decode(errors="replace").strip() for piece in raw) if line]

    def last_line(self) -> str:
        """The line that tells most: the plugin's, else the last that QEMU marks, else the last."""
        lines = self.lines()
        plugins = [line.removeprefix("gdbext: ") for line in lines if line.startswith("gdbext: ")]
        marked = [line for line in lines if line.startswith("qemu")]
        return (plugins or marked or lines or [""])[-1]

    def _copy(self) -> None:
        fd = self._stream.fileno()
        ready = select.poll()  # unlike select() it takes any number of a file
        ready.register(fd, select.POLLIN)
        while True:
            ready.poll()
            data = os.read(fd, 65536)
            if not data:
                return
            with self._lock:
                *whole, self._partial = (self._partial + data).split(b"\n")
                self._lines.extend(whole)
                if self._held is not None:
                    self._held.append(data)
                else:
                    self._write(data)

    def _write(self, data: bytes) -> None:
        if data and not self._quiet:
            sys.stderr.buffer.write(data)
            sys.stderr.buffer.flush()
