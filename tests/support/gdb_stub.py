# SPDX-License-Identifier: GPL-2.0-or-later
"""A few requests of GDB's remote protocol, where a test must act between two of them."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Stub"]


class Stub:
    """A connection to QEMU's GDB stub; the machine is halted at first."""

    def __init__(self, path: Path) -> None:
        deadline = time.monotonic() + 60
        while True:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(60)
            try:
                self._socket.connect(str(path))
                break
            except OSError:
                self._socket.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        self._pending = b""
        self.ask("?")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._socket.close()

    def go(self) -> None:
        """Let the machine run; it is not waited for."""
        self._send("c")

    def halt(self) -> str:
        """Stop the running machine, as Ctrl-C in GDB does; the stop reply."""
        self._socket.sendall(b"\x03")
        return self.reply()

    def step(self) -> str:
        """Execute one instruction."""
        return self.ask("s")

    def register(self, number: int) -> int:
        """A register of a little-endian 32-bit core, by GDB's number."""
        return int.from_bytes(bytes.fromhex(self.ask("g"))[4 * number : 4 * number + 4], "little")

    def ask(self, request: str) -> str:
        """Send a request and return its answer."""
        self._send(request)
        return self.reply()

    def reply(self) -> str:
        """The next packet from the stub."""
        while True:
            begin = self._pending.find(b"$")
            end = self._pending.find(b"#", begin)
            if begin >= 0 and 0 <= end <= len(self._pending) - 3:
                packet = self._pending[begin + 1 : end]
                self._pending = self._pending[end + 3 :]
                self._socket.sendall(b"+")
                return packet.decode()
            data = self._socket.recv(65536)
            assert data, "the stub closed the connection"
            self._pending += data

    def _send(self, request: str) -> None:
        body = request.encode()
        self._socket.sendall(b"$%b#%02x" % (body, sum(body) & 0xFF))
