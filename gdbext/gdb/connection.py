# SPDX-License-Identifier: GPL-2.0-or-later
"""Which recorder belongs to the QEMU that GDB is connected to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import gdb

from gdbext.errors import ControlError
from gdbext.target.control import discover

if TYPE_CHECKING:
    from gdbext.target.control import LiveSession

__all__ = ["recorder_of_connection"]

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
    if len(found) == 1 and (connected is None or _process_of_port(connected) is None):
        return found[0]
    if len(found) == 1:
        raise ControlError(
            f"the QEMU that GDB is connected to has no recorder ({found[0].directory} is not its); "
            "add to it what `gdbext qemu-args` prints, or `set gdbext control PATH`"
        )
    paths = ", ".join(str(session.directory / "control") for session in found)
    raise ControlError(f"several recorders run; choose with `set gdbext control PATH`: {paths}")


def _connected_to() -> str | None:
    """What was given to `target remote`; None without a connection."""
    connection = gdb.selected_inferior().connection
    if connection is None or not connection.is_valid():
        return None
    return connection.details or None


def _serves(session: LiveSession, connected: str) -> bool:
    if connected.startswith("/"):
        return Path(connected) == session.directory / "gdb"
    return _process_of_port(connected) == session.pid


def _process_of_port(connected: str) -> int | None:
    """The process that listens at `[tcp:][HOST]:PORT` on this machine; None if not to be seen."""
    match = re.fullmatch(r"(?:tcp[46]?:)?(?:localhost|127\.0\.0\.1|\[?::1\]?)?:(\d+)", connected)
    if not match:
        return None
    sockets = _listening_sockets(int(match[1]))
    if not sockets:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = {str(link.readlink()) for link in (process / "fd").iterdir()}
        except OSError:
            # Ended meanwhile, or another user's.
            continue
        if links & sockets:
            return int(process.name)
    return None


def _listening_sockets(port: int) -> set[str]:
    """The TCP sockets that listen at `port`, or accepted a connection there, as fd links."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            # QEMU stops listening once GDB is there, so any state will do.
            if int(fields[1].rpartition(":")[2], 16) == port and fields[9] != "0":
                found.add(f"socket:[{fields[9]}]")
    return found
