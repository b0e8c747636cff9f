# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows: how long `trace analyze --function` takes at a breakpoint, after much was executed."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from typing import Final

from gdbext.target.boards import load_board
from gdbext.target.gdb_binary import find_gdb
from tests.bench.firmware import GIGA, bench_firmware, iterations_of_insns
from tests.bench.machine import ROOT
from tests.bench.pairing import Spread
from tests.bench.processes import BenchError
from tests.bench.qemu_runs import LOADED, plugin_words
from tests.bench.settings import Settings
from tests.bench.table import SECONDS, Row

__all__ = ["rows"]

BOARD: Final = "mps2-an385"
FUNCTION: Final = "crc_word"
LIMITS: Final = (2.0, 1.0)
TIMEOUT_S: Final = 600.0

_ASK: Final = (
    "python import time; t = time.monotonic(); "
    f"text = gdb.execute('trace analyze --function={FUNCTION}', to_string=True); "
    "print('asked', '{}', time.monotonic() - t, len(text))"
)


def rows(settings: Settings) -> list[Row]:
    """The first question of a session, and one after another; each finds 1 G new instructions."""
    first, later, again = [], [], []
    for number in range(settings.rounds):
        settings.say(f"question at a breakpoint: round {number + 1} of {settings.rounds}")
        took = _session(settings, ask_before=False)
        first.append(took["after"])
        took = _session(settings, ask_before=True)
        later.append(took["after"])
        again.append(took["again"])
    what = "trace analyze --function after 1 G new instructions"
    note = f"asked again at once: {SECONDS.write(Spread.of(again).median)}"
    return [
        Row(what, f"{BOARD}, first question", SECONDS, Spread.of(first), *LIMITS),
        Row(what, f"{BOARD}, later question", SECONDS, Spread.of(later), *LIMITS, note=note),
    ]


def _session(settings: Settings, *, ask_before: bool) -> dict[str, float]:
    """One GDB session; what each question took, by its name."""
    board = load_board(BOARD)
    qemu = settings.own.program(board.qemu)
    elf = bench_firmware(BOARD, iterations_of_insns(GIGA))
    # Used by its name alone: a Unix socket's path must be short.
    stub = settings.directory / "gdb"
    stub.unlink(missing_ok=True)
    with settings.live_directory() as live:
        command = [str(qemu.path), *qemu.arguments, *board.arguments(elf)]
        command += [*plugin_words(qemu, LOADED, live), "-S", "-gdb"]
        process = subprocess.Popen(
            [*command, f"unix:{stub.name},server=on,wait=off"],
            cwd=stub.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **qemu.environment},
        )
        try:
            _wait_until_there(stub, process)
            output = _gdb(elf, stub, live, ask_before=ask_before)
        finally:
            process.kill()
            process.wait()
    found = re.findall(r"^asked (\w+) ([\d.]+) (\d+)$", output, re.MULTILINE)
    took = {name: float(seconds) for name, seconds, length in found if int(length) > 200}
    if took.keys() != {"after", "again", *(["before"] if ask_before else [])}:
        raise BenchError(f"GDB: no answer to `trace analyze`: {output.strip()}")
    return took


def _gdb(elf: Path, stub: Path, live: Path, *, ask_before: bool) -> str:
    """Record from `main` to the end of all work, ask there; what GDB has printed."""
    script = [
        "set width 0",
        "set height 0",
        f"source {ROOT / 'gdbext' / 'gdb' / 'load.py'}",
        f"set gdbext control {live / 'control'}",
        f"target remote {stub.name}",
        "hbreak main",
        "continue",
        "trace start",
        *(["thbreak list_work", "continue", _ASK.format("before")] if ask_before else []),
        "hbreak gx_report",
        "continue",
        _ASK.format("after"),
        _ASK.format("again"),
    ]
    words = [str(find_gdb()), "-nx", "-q", "-batch"]
    for line in script:
        words += ["-ex", line]
    done = subprocess.run(
        [*words, str(elf)],
        cwd=stub.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return done.stdout


def _wait_until_there(stub: Path, process: subprocess.Popen[bytes]) -> None:
    """QEMU makes the socket of its GDB stub when it is ready."""
    while not stub.exists():
        if process.poll() is not None:
            raise BenchError(f"QEMU ended with status {process.returncode}")
        time.sleep(0.01)
