# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP ports of this machine: a free one, and whose one is."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

__all__ = ["free_port", "is_listening", "process_of_port"]

_LISTEN: Final = "0A"


def free_port() -> int:
    """A port of the loopback interface that is free now; somebody else may still take it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_listening(port: int) -> bool:
    """Whether somebody listens there. Asks the kernel: a stub takes one connection only."""
    return any(state == _LISTEN for state, _ in _sockets(port))


def process_of_port(port: int) -> int | None:
    """The process that listens at the port or serves a connection to it; None if not to be seen."""
    # QEMU may stop listening once GDB is there, so any state will do.
    links = {f"socket:[{inode}]" for _, inode in _sockets(port) if inode != "0"}
    if not links:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        try:
            opened = {str(link.readlink()) for link in (process / "fd").iterdir()}
        except OSError:
            # Ended meanwhile, or another user's.
            continue
        if opened & links:
            return int(process.name)
    return None


def _sockets(port: int) -> list[tuple[str, str]]:
    """State and inode of each TCP socket with that local port (proc(5), /proc/net/tcp)."""
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if int(fields[1].rpartition(":")[2], 16) == port:
                found.append((fields[3], fields[9]))
    return found
