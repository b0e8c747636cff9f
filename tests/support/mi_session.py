# SPDX-License-Identifier: GPL-2.0-or-later
"""A debugging session for tests, with everything that happened in it kept."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from gdbext.mi.session import DebugSession, Setup
from gdbext.mi.stops import Stop
from gdbext.target.boards import load_board
from tests.support.gdb_session import need_gdb
from tests.support.qemus import qemu_in

__all__ = ["Heard", "debug_session", "soon"]

TIMEOUT_S = 60.0


class Heard:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.text = ""
        self.stops: list[Stop] = []
        self.guest = b""

    def gdb_text(self, text: str) -> None:
        """Keep GDB's words."""
        self.text += text

    def stopped(self, stop: Stop) -> None:
        """Keep the stop."""
        self.stops.append(stop)

    def running(self) -> None:
        """Nothing to keep."""

    def guest_output(self, data: bytes) -> None:
        """Keep the guest's output."""
        self.guest += data


def soon() -> float:
    """A deadline that only a hanging test reaches."""
    return time.monotonic() + TIMEOUT_S


@contextmanager
def debug_session(
    elf: Path,
    board: str,
    monkeypatch: pytest.MonkeyPatch,
    runtime: Path,
    qemu_args: Sequence[str] = (),
    *,
    trace_commands: bool = False,
) -> Iterator[tuple[DebugSession, Heard]]:
    """A started session, and its listener; skips without GDB or QEMU."""
    need_gdb()
    found = load_board(board)
    qemu_in("", found.qemu)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    heard = Heard()
    setup = Setup(
        found,
        elf,
        qemu_args=qemu_args,
        init_files=False,
        trace_commands=trace_commands,
        quiet=True,
    )
    with DebugSession(setup, heard) as session:
        session.start()
        yield session, heard
