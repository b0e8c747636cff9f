# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU that somebody else started: where GDB finds it, and its recorder. It is left running."""

from __future__ import annotations

import os
import re
import select
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gdbext.errors import ControlError, TargetError, UsageError
from gdbext.target.control import TIMEOUT_S, ControlClient, discover
from gdbext.target.ports import process_of_port

__all__ = ["AttachedQemu", "Attachment", "attach", "parse_attachment"]

_LOCAL = ("", "localhost", "127.0.0.1", "::1", "[::1]")


class Attachment(NamedTuple):
    """What was asked for."""

    host: str
    port: int
    control: Path | None
    """The recorder's socket, or the live directory that holds it; None: look for it."""

    @property
    def address(self) -> str:
        """For GDB's `target remote`."""
        return f"{self.host}:{self.port}"


def parse_attachment(text: str, control: Path | None) -> Attachment:
    """`HOST:PORT`, `:PORT` or `PORT`.

    Raises:
        UsageError: it is something else.
    """
    match = re.fullmatch(r"(?:tcp:)?(?:(\[[^]]*\]|[^:]*):)?(\d{1,5})", text)
    if match is None or not 0 < int(match[2]) < 1 << 16:
        raise UsageError(f"--attach: '{text}' is no HOST:PORT, such as localhost:1234")
    return Attachment(match[1] or "localhost", int(match[2]), control)


@dataclass
class AttachedQemu:
    """A running QEMU with the recorder, started by somebody else. `close` leaves it running."""

    gdb_address: str
    """For GDB's `target remote`."""
    directory: Path
    """The live recording and its `control`."""
    pid: int
    """QEMU's process id."""
    _end: int = field(repr=False)
    """A descriptor that can be read once QEMU has ended."""
    is_ours = False

    @property
    def control_path(self) -> Path:
        """The recorder's control socket."""
        return self.directory / "control"

    def control(self, timeout_s: float | None = None) -> ControlClient:
        """A new client of the recorder."""
        return ControlClient(self.control_path, TIMEOUT_S if timeout_s is None else timeout_s)

    @property
    def end_descriptor(self) -> int:
        """To wait for QEMU's end."""
        return self._end

    def poll(self) -> int | None:
        """None while QEMU runs; its exit status is its parent's to know: -1."""
        return self.wait(0.0)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for QEMU's end: -1, or None after `timeout_s`."""
        waiting = select.poll()
        waiting.register(self._end, select.POLLIN)
        timeout_ms = None if timeout_s is None else timeout_s * 1000
        return -1 if waiting.poll(timeout_ms) else None

    def start_error(self) -> TargetError:
        """That it has ended, as an error."""
        return TargetError(
            f"the QEMU at {self.gdb_address} (process {self.pid}) has ended; it was not started "
            "here"
        )

    def close(self) -> None:
        """Let go of it."""
        if self._end >= 0:
            os.close(self._end)
            self._end = -1


def attach(wanted: Attachment) -> AttachedQemu:
    """Find the recorder of a QEMU that runs.

    Raises:
        ControlError: there is none, or which one is meant cannot be told.
        TargetError: its QEMU has just ended.
    """
    control = wanted.control if wanted.control is not None else _control_of(wanted)
    with ControlClient(control) as client:
        hello = client.hello()
    directory = control if control.is_dir() else control.parent
    try:
        end = os.pidfd_open(hello.pid)
    except OSError as error:
        raise TargetError(f"{control}: QEMU, process {hello.pid}: {error.strerror}") from error
    return AttachedQemu(wanted.address, directory.absolute(), hello.pid, end)


def _control_of(wanted: Attachment) -> Path:
    """The socket of the QEMU that serves GDB at the port, or of the only recorder there is."""
    found = discover()
    pid = process_of_port(wanted.port) if wanted.host in _LOCAL else None
    for session in found:
        if session.pid == pid:
            return session.directory / "control"
    if pid is None and len(found) == 1:
        return found[0].directory / "control"
    if found:
        paths = ", ".join(str(session.directory / "control") for session in found)
        raise ControlError(f"which recorder is it? Give --control with one of {paths}")
    raise ControlError(
        "no QEMU with the recorder runs; add to yours what `gdbext qemu-args` prints, or give its "
        "socket with --control"
    )
