# SPDX-License-Identifier: GPL-2.0-or-later
"""Stopping QEMU in GDB when the recorder holds a vCPU at a stop condition, and telling why.

A thread looks at a word of shared memory. When a vCPU is held it has GDB interrupt the program and
lets the vCPU go on block by block until QEMU has stopped. It never touches GDB itself: GDB's own
thread does, through `gdb.post_event`.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Final

import gdb

from gdbext.errors import ControlError, GdbextError
from gdbext.target.control import ControlClient
from gdbext.target.stopon import HeldWord, drop_condition, read_condition, release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from gdbext.analyses.workspace import Workspace

__all__ = ["StopWatch"]

_LOOK_S: Final = 0.02
_TAIL_INSNS: Final = 5000


class StopWatch:
    """Watches for one condition at a time.

    Args:
        workspace: brings the recording in work up to date.
    """

    def __init__(self, workspace: Callable[[], Workspace]) -> None:
        self._workspace = workspace
        self._live: Path | None = None
        self._text = ""
        self._places: Mapping[int, str] = {}
        self._ended = threading.Event()
        # The recorder serves one client at a time.
        self._talking = threading.Lock()
        self._connected = False

    def begin(self, live: Path, text: str, places: Mapping[int, str]) -> None:
        """A condition was set in the recorder.

        Args:
            text: the condition in words.
            places: names by address, of all that it waits for.
        """
        self._ended.set()  # an earlier thread
        self._live, self._text, self._places = live, text, places
        self._ended = threading.Event()
        if not self._connected:
            gdb.events.stop.connect(self._stopped)
            gdb.events.exited.connect(self._stopped)
            self._connected = True
        watch = threading.Thread(
            target=_watch, args=(live, HeldWord(live), self._ended, self._talking), daemon=True
        )
        # GDB's own thread must get the signals.
        old = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
        try:
            watch.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)

    def _stopped(self, _event: object) -> None:
        """GDB's program stopped; was it for the condition?"""
        live = self._live
        if live is None:
            return
        try:
            with self._talking, ControlClient(live) as client:
                now = read_condition(client)
                if now.hit:
                    drop_condition(client)
        except ControlError:
            now = None  # QEMU has ended
        if now is None or not now.is_set or now.hit:
            self._ended.set()
            self._live = None
        if now is not None and now.hit:
            name = f": {self._places[now.address]}" if len(self._places) > 1 else ""
            gdb.write(f"stop-on: {self._text}{name}{self._overshoot(now.address, now.vcpu)}\n")

    def _overshoot(self, address: int, vcpu: int) -> str:
        """How many instructions ran after the one that hit."""
        try:
            tail = self._workspace().last_insns(_TAIL_INSNS)
        except GdbextError as error:
            return f"; {error}"
        mine = [insn for insn in tail if insn.vcpu == vcpu]
        for after, insn in enumerate(mine):
            if insn.address == address:
                return f"; {after:,} more instructions ran before QEMU stopped"
            if insn.times > 1:
                break
        return "; QEMU stopped far beyond it"


def _watch(live: Path, held: HeldWord, ended: threading.Event, talking: threading.Lock) -> None:
    """The thread's work."""
    while not ended.wait(_LOOK_S):
        if held:
            gdb.post_event(_interrupt)
            break
    # The interrupt takes its way through GDB and QEMU: one block at a time until it is there.
    while not ended.wait(_LOOK_S):
        try:
            with talking, ControlClient(live) as client:
                release(client)
        except ControlError:
            # A command is talking to the recorder, or QEMU has ended: GDB will tell.
            continue
    held.close()


def _interrupt() -> None:
    thread = gdb.selected_thread()
    if thread is not None and thread.is_running():
        gdb.execute("interrupt")
