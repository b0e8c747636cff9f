# SPDX-License-Identifier: GPL-2.0-or-later
"""GDB as a process whose records are read as they come.

pygdbmi's own controller waits for 0.2 s of silence after each command; here a result is known by
its token, and nothing waits for time to pass.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gdbext.errors import TargetError
from gdbext.mi.records import Record, parse_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["GdbProcess"]

_PIECE_BYTES: Final = 1 << 16
_WRITE_TIMEOUT_S: Final = 10.0
_END_TIMEOUT_S: Final = 5.0


class GdbProcess:
    """A running GDB. It is in a process group of its own: Ctrl-C in the terminal is for us."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it.

        Raises:
            TargetError: it cannot be executed.
        """
        self.name = Path(command[0]).name
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=dict(environment),
                process_group=0,
            )
        except OSError as error:
            raise TargetError(f"{command[0]}: cannot start: {error.strerror}") from error
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin = self._process.stdin
        self._stdout = self._process.stdout
        self._stderr = self._process.stderr
        for stream in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(stream.fileno(), False)
        # Its output may stay open after its end, in the hands of what it started.
        self._end = os.pidfd_open(self._process.pid)
        self._partial = b""
        self._is_closed = False
        self._errors: deque[str] = deque(maxlen=20)
        self._streams = {self._stdout.fileno(): True, self._stderr.fileno(): True}

    @property
    def pid(self) -> int:
        """GDB's process id."""
        return self._process.pid

    def descriptors(self) -> list[int]:
        """What can be waited for: its output and error as long as they are open, and its end."""
        return [*(number for number, is_open in self._streams.items() if is_open), self._end]

    def has_ended(self) -> bool:
        """Whether it has ended, or closed its output, which comes just before."""
        return not self._streams[self._stdout.fileno()] or self._process.poll() is not None

    def records(self) -> list[Record]:
        """The records that have come; does not wait."""
        self._read_errors()
        number = self._stdout.fileno()
        found: list[Record] = []
        while self._streams[number]:
            data = _read(number)
            if data is None:
                break
            if not data:
                self._streams[number] = False
                break
            *lines, self._partial = (self._partial + data).split(b"\n")
            found += [parse_record(line.rstrip(b"\r")) for line in lines]
        return found

    def write(self, line: str) -> None:
        """Send one line.

        Raises:
            TargetError: GDB has ended, or takes nothing.
        """
        rest = line.encode() + b"\n"
        number = self._stdin.fileno()
        waiting = select.poll()
        waiting.register(number, select.POLLOUT)
        deadline = time.monotonic() + _WRITE_TIMEOUT_S
        try:
            while rest:
                waiting.poll(1000)
                with suppress(BlockingIOError):
                    rest = rest[os.write(number, rest) :]
                if rest and time.monotonic() > deadline:
                    raise TargetError(f"{self.name} takes no commands any more; end it")
        except BrokenPipeError as error:
            raise self.end_error() from error

    def interrupt(self) -> None:
        """Send SIGINT: GDB stops what it is doing, a command or the target."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def end_error(self) -> TargetError:
        """How GDB ended and what it said last, as an error."""
        if not self._is_closed:
            self._read_errors()
        status = self._wait()
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        said = f": {self._errors[-1]}" if self._errors else ""
        return TargetError(f"{self.name} {how}{said}")

    def close(self) -> None:
        """End it at once: a debugger has nothing to save."""
        if self._is_closed:
            return
        self._read_errors()
        self._is_closed = True
        self._process.kill()
        self._process.wait()
        os.close(self._end)
        for stream in (self._stdin, self._stdout, self._stderr):
            # What was written last may not have been taken.
            with suppress(BrokenPipeError):
                stream.close()

    def _wait(self) -> int:
        try:
            return self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _read_errors(self) -> None:
        number = self._stderr.fileno()
        while self._streams[number]:
            data = _read(number)
            if data is None:
                return
            if not data:
                self._streams[number] = False
                return
            text = data.decode(errors="replace")
            self._errors.extend(line for line in text.splitlines() if line.strip())


def _read(number: int) -> bytes | None:
    """What has come on a descriptor; empty at its end, None if nothing is there now."""
    try:
        return os.read(number, _PIECE_BYTES)
    except BlockingIOError:
        return None
