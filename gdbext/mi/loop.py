# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting for several processes at once: descriptors, and who reads them."""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Loop"]


class Loop:
    """Readers by descriptor. One thread; a reader is called when there is something to read."""

    def __init__(self) -> None:
        self._readers: dict[int, Callable[[], None]] = {}

    def watch(self, descriptor: int, reader: Callable[[], None]) -> None:
        """Call `reader` whenever the descriptor can be read, or has come to its end."""
        self._readers[descriptor] = reader

    def forget(self, descriptor: int) -> None:
        """Watch it no longer; it is no error if nobody did."""
        self._readers.pop(descriptor, None)

    def readers(self) -> dict[int, Callable[[], None]]:
        """All of them, for another event loop to take over for a while."""
        return dict(self._readers)

    def wait(self, condition: Callable[[], bool], deadline: float | None) -> bool:
        """Serve the readers until the condition holds; False if it does not by the deadline.

        Args:
            deadline: of `time.monotonic()`; None: no limit.
        """
        while not condition():
            timeout_ms: float | None = None
            if deadline is not None:
                timeout_ms = (deadline - time.monotonic()) * 1000
                if timeout_ms <= 0:
                    return False
            self._serve(timeout_ms)
        return True

    def serve_ready(self) -> None:
        """Serve what is there now; does not wait."""
        while self._serve(0):
            pass

    def _serve(self, timeout_ms: float | None) -> bool:
        """One round; whether there was anything."""
        waiting = select.poll()
        for descriptor in self._readers:
            waiting.register(descriptor, select.POLLIN)
        ready = waiting.poll(None if timeout_ms is None else max(timeout_ms, 0))
        for descriptor, _ in ready:
            # One of the others may have taken it out.
            reader = self._readers.get(descriptor)
            if reader is not None:
                reader()
        return bool(ready)
