# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's console (serial port, semihosting): what it wrote, and what is typed to it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gdbext.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdbext.mi.loop import Loop

__all__ = ["GuestConsole"]

MAX_KEPT_BYTES: Final = 16 << 20
_PIECE_BYTES: Final = 1 << 16


class GuestConsole:
    """Two pipes to QEMU's standard streams, and the transcript over all its restarts."""

    def __init__(self, loop: Loop, listener: Callable[[bytes], None]) -> None:
        """`listener` is told each piece of output as it comes."""
        self._loop = loop
        self._listener = listener
        self._kept = bytearray()
        self._input: int | None = None
        self._output: int | None = None
        self._foreign_end: int | None = None
        """Can be read once a QEMU that was not started here has ended."""
        self.dropped_bytes = 0
        """Of the beginning: the transcript keeps the newest MAX_KEPT_BYTES."""

    def open(self) -> tuple[int, int]:
        """Make new pipes; the ends for QEMU's standard input and output, to be closed by us."""
        self.close()
        guest_input, self._input = os.pipe2(os.O_CLOEXEC)
        self._output, guest_output = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._input, False)
        os.set_blocking(self._output, False)
        self._loop.watch(self._output, self._read)
        return guest_input, guest_output

    def open_foreign(self, end: int) -> None:
        """Take part in the life of a QEMU whose console is not here.

        Args:
            end: a descriptor that can be read once it has ended; it stays the caller's.
        """
        self.close()
        self._foreign_end = end
        self._loop.watch(end, self._forget_foreign)

    @property
    def is_here(self) -> bool:
        """Whether the console comes to us: not that of a QEMU that ran before."""
        return self._foreign_end is None

    @property
    def is_open(self) -> bool:
        """Whether QEMU may still write; False once it has ended and everything was read."""
        return self._output is not None or self._foreign_end is not None

    @property
    def text(self) -> str:
        """What the guest wrote."""
        return self._kept.decode(errors="replace")

    @property
    def size_bytes(self) -> int:
        """How much it wrote, in all."""
        return self.dropped_bytes + len(self._kept)

    def bytes_since(self, position: int) -> bytes:
        """What it wrote after the first `position` bytes."""
        return bytes(self._kept[max(position - self.dropped_bytes, 0) :])

    def send(self, data: bytes) -> None:
        """Type to the guest.

        Raises:
            TargetError: QEMU has ended, or the guest has not read what was typed before.
        """
        if self._foreign_end is not None:
            raise TargetError("this QEMU was not started here: type into its own console")
        if self._input is None:
            raise TargetError("QEMU has ended; nobody reads the input")
        try:
            sent = os.write(self._input, data)
        except BrokenPipeError as error:
            raise TargetError("QEMU has ended; nobody reads the input") from error
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            raise TargetError("the guest does not read its input: it is full; let the guest run")

    def close(self) -> None:
        """Close the pipes; the transcript stays."""
        if self._output is not None:
            self._read()
        self._close_output()
        self._forget_foreign()
        if self._input is not None:
            os.close(self._input)
            self._input = None

    def _read(self) -> None:
        while self._output is not None:
            try:
                data = os.read(self._output, _PIECE_BYTES)
            except BlockingIOError:
                return
            if not data:
                self._close_output()
                return
            self._kept += data
            excess = len(self._kept) - MAX_KEPT_BYTES
            if excess > 0:
                del self._kept[:excess]
                self.dropped_bytes += excess
            self._listener(data)

    def _forget_foreign(self) -> None:
        if self._foreign_end is not None:
            self._loop.forget(self._foreign_end)
            self._foreign_end = None

    def _close_output(self) -> None:
        if self._output is not None:
            self._loop.forget(self._output)
            with suppress(OSError):
                os.close(self._output)
            self._output = None
