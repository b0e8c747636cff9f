# SPDX-License-Identifier: GPL-2.0-or-later
"""Which recorder belongs to the QEMU that GDB is connected to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import gdb

from gdbext.errors import ControlError
from gdbext.target.control import discover
from gdbext.target.ports import process_of_port

if TYPE_CHECKING:
    from gdbext.target.control import LiveSession

__all__ = ["connection_number", "recorder_of_connection"]

_NONE = (
    "no QEMU with the recorder runs; start one with `gdbext debug ELF --board B`, or add to yours "
    "what `gdbext qemu-args` prints"
)


def recorder_of_connection() -> LiveSession:
    """The recorder of the connected QEMU, or the only one there is.

    Raises:
        ControlError: there is none, or which one is meant cannot be told.
    """
    found = discover()
    if not found:
        raise ControlError(_NONE)
    connected = _connected_to()
    for session in found:
        if connected and _serves(session, connected):
            return session
    if len(found) == 1 and (connected is None or _process_of(connected) is None):
        return found[0]
    if len(found) == 1:
        raise ControlError(
            f"the QEMU that GDB is connected to has no recorder ({found[0].directory} is not its); "
            "add to it what `gdbext qemu-args` prints, or `set gdbext control PATH`"
        )
    paths = ", ".join(str(session.directory / "control") for session in found)
    raise ControlError(f"several recorders run; choose with `set gdbext control PATH`: {paths}")


def connection_number() -> int | None:
    """GDB's number of the connection to the target, never used again; None without one."""
    connection = gdb.selected_inferior().connection
    if connection is None or not connection.is_valid() or not _details(connection):
        return None
    return int(connection.num)


def _details(connection: gdb.TargetConnection) -> str | None:
    return connection.details or None


def _connected_to() -> str | None:
    """What was given to `target remote`; None without a connection."""
    connection = gdb.selected_inferior().connection
    if connection is None or not connection.is_valid():
        return None
    return _details(connection)


def _serves(session: LiveSession, connected: str) -> bool:
    return _process_of(connected) == session.pid


def _process_of(connected: str) -> int | None:
    """The process at `[tcp:][HOST]:PORT` on this machine; None if it is not to be seen."""
    match = re.fullmatch(r"(?:tcp[46]?:)?(?:localhost|127\.0\.0\.1|\[?::1\]?)?:(\d+)", connected)
    return process_of_port(int(match[1])) if match else None
