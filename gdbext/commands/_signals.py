# SPDX-License-Identifier: GPL-2.0-or-later
"""Ending orderly when somebody else ends us: a closed terminal, a stopped CI job."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["orderly_end"]


@contextmanager
def orderly_end() -> Iterator[None]:
    """SIGTERM and SIGHUP raise SystemExit, so that QEMU, GDB and their files do not stay behind.

    Only the first one does: the end itself is not to be broken off.
    """

    def leave(number: int, _frame: FrameType | None) -> None:
        for each in watched:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    watched = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, leave) for number in watched}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
