# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU with the recorder, started directly: no launcher between the test and the process."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gdbext.errors import ControlError
from gdbext.target.boards import Board
from gdbext.target.control import ControlClient
from gdbext.target.qemu_binary import QemuBinary

__all__ = [
    "MIXES_VCPUS_UP",
    "Running",
    "icount",
    "record",
    "running",
    "skip_if_mixed_up",
    "wait_until",
]

MIXES_VCPUS_UP = (9, 2)
"""The first QEMU whose plugins cannot tell several vCPUs on one thread apart (see plugin.c)."""

END_S = 60.0
"""How long a run may take on a loaded machine; every program here needs a second or two."""


@dataclass
class Running:
    """A QEMU with the recorder."""

    process: subprocess.Popen[bytes]
    directory: Path
    """Live directory."""
    gdb: Path
    """Socket of the GDB stub, if there is one."""
    output: Path
    """File that the program's output goes to."""

    def control(self, timeout_s: float = 30.0) -> ControlClient:
        """A client of the recorder, which must be there within a minute."""
        deadline = time.monotonic() + 60
        while True:
            client = ControlClient(self.directory / "control", timeout_s)
            try:
                client.connect()
            except ControlError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.005)
            else:
                return client

    def wait(self) -> int:
        """Wait for QEMU's own end; its exit status."""
        return self.process.wait(END_S)

    def text(self) -> str:
        """What the program and QEMU have written so far."""
        return self.output.read_bytes().decode(errors="replace")


def icount(board: Board) -> list[str]:
    """The arguments that make a run on the board repeat exactly."""
    assert board.icount is not None
    return ["-icount", board.icount]


@contextmanager
def running(
    board: Board,
    elf: Path,
    qemu: QemuBinary,
    directory: Path,
    extra: Sequence[str] = (),
    *,
    record: bool = True,
    gdb: bool = False,
    probes: bool = True,
    options: str = "",
) -> Iterator[Running]:
    """QEMU with the recorder, which records to `directory`; killed at the end if it still runs.

    Args:
        extra: QEMU's arguments after the board's.
        record: from the first block on.
        gdb: halted, with a stub on the socket `Running.gdb`.
        probes: False: no registers are read.
        options: further ones of the plugin, as `level=1`.
    """
    stub = directory.with_name(directory.name + ".gdb")
    output = directory.with_name(directory.name + ".out")
    plugin = f"{qemu.plugin},dir={directory}{',record=on' if record else ''}"
    if not probes:
        plugin += ",probes=off"
    elif board.vector_table:
        plugin += f",vectors={board.vector_table}"
    if options:
        plugin += f",{options}"
    command = [str(qemu.path), *qemu.arguments, *board.arguments(elf), "-plugin", plugin, *extra]
    if gdb:
        command += ["-S", "-gdb", f"unix:{stub},server=on,wait=off"]
    with output.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **qemu.environment},
            start_new_session=True,
        )
    try:
        yield Running(process, directory, stub, output)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()


def record(
    board: Board,
    elf: Path,
    qemu: QemuBinary,
    directory: Path,
    extra: Sequence[str] = (),
    *,
    probes: bool = True,
    options: str = "",
) -> Running:
    """Run the program to its end, recorded from the first block on; the ended QEMU."""
    with running(board, elf, qemu, directory, extra, probes=probes, options=options) as run:
        status = run.wait()
    assert status == 0, run.text()
    return run


def skip_if_mixed_up(board: Board, qemu: QemuBinary) -> None:
    """Skip where the board's -icount puts several vCPUs on one thread and QEMU mixes them up."""
    if board.name == "mps2-an521" and qemu.version >= MIXES_VCPUS_UP:
        pytest.skip("this QEMU cannot tell vCPUs on one thread apart")


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that must happen, at most a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.005)
