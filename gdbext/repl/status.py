# SPDX-License-Identifier: GPL-2.0-or-later
"""The line below the prompt: where the program stands, and what is recorded."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from gdbext.commands._saving import recorded_totals
from gdbext.errors import ControlError, TraceFormatError
from gdbext.render.numbers import amount, bytes_amount

if TYPE_CHECKING:
    from gdbext.mi.session import DebugSession
    from gdbext.target.control import Status

__all__ = ["StatusLine", "recorder_text", "target_text"]

_AGE_S: Final = 0.5
_TIMEOUT_S: Final = 0.2


class StatusLine:
    """The text. The recorder's part is half a second old at most, and exact at a stop."""

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._asked = 0.0
        self._text = ""
        self._exact: int | None = None
        """Instructions recorded, as of this stop; None: not counted yet, or it runs."""

    def text(self) -> str:
        """The line."""
        now = time.monotonic()
        if now - self._asked >= _AGE_S:
            self._asked = now
            self._text = self._recorder()
        return f"{target_text(self._session)} | {self._text}"

    def forget(self) -> None:
        """Something was done: ask anew the next time."""
        self._asked = 0.0
        self._exact = None

    def _recorder(self) -> str:
        session = self._session
        status = self._status()
        if status is None or session.debugger.state == "running":
            self._exact = None
            return recorder_text(status, None)
        if self._exact is None:
            try:
                self._exact = recorded_totals(session.emulator.directory)[0]
            except TraceFormatError as error:
                return f"recorder: {error}"
        return recorder_text(status, self._exact)

    def _status(self) -> Status | None:
        emulator = self._session.emulator
        if emulator.poll() is not None:
            return None
        try:
            with emulator.control(_TIMEOUT_S) as client:
                return client.status()
        except ControlError:
            # Busy with another client, or ending: the next look will tell.
            return None


def target_text(session: DebugSession) -> str:
    """What the program does."""
    debugger = session.debugger
    if not debugger.is_alive:
        return "GDB has ended: `restart`"
    if debugger.state == "running":
        return "running"
    stop = debugger.last_stop
    if stop is not None and stop.has_ended:
        return stop.describe()
    if session.emulator.poll() is not None:
        return "QEMU has ended: `restart`"
    return f"stopped in {stop.where}" if stop is not None else "not started"


def recorder_text(status: Status | None, exact: int | None) -> str:
    """What the recorder does.

    Args:
        exact: instructions recorded; None: not known, only those of finished chunks are.
    """
    if status is None:
        return "recorder: gone"
    if status.state == "stopped" and not exact and not status.chunks:
        return "not recording"
    state = "not recording" if status.state == "stopped" else status.state
    insns = f"at least {amount(status.instructions)}" if exact is None else amount(exact)
    gaps = f", {status.gaps} gaps" if status.gaps else ""
    return f"{state}: {insns} instructions, {bytes_amount(status.stream_bytes)}{gaps}"
