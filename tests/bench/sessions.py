# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows: a whole scripted session, and conditions that ask the recording at each hit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tests.bench.machine import ROOT
from tests.bench.pairing import Spread
from tests.bench.processes import BenchError
from tests.bench.settings import Settings
from tests.bench.table import RATIO, SECONDS, Row
from tests.support.firmware import firmware_path

__all__ = ["rows"]

BOARD: Final = "mps2-an385"
TIMEOUT_S: Final = 600.0
SESSION_LIMITS: Final = (1.5, 1.0)
CONDITION_LIMITS: Final = (3.0, 1.5)
N_HITS: Final = 2000
"""The cost of a hit does not depend on how many there were: each replays only what is new."""

_CONDITIONS: Final = {
    "plain": "size_bytes > 1000000",
    "asking": '$trace_calls("malloc") > 1000000',
}


def rows(settings: Settings) -> list[Row]:
    """Start to end of `gdbext run`, and hits of a condition with and without a question."""
    elf = firmware_path("demo", BOARD)
    script = settings.directory / "trivial.yaml"
    script.write_text(
        f"firmware: {elf}\nboard: {BOARD}\nsteps:\n"
        "  - trace: start\n  - run-until: {function: main}\n  - expect: calls(main) == 0\n"
    )
    whole, ratios, plain = [], [], []
    for number in range(settings.rounds):
        settings.say(f"sessions: round {number + 1} of {settings.rounds}")
        whole.append(_timed_run(script, settings.directory))
        took = {name: _hits(elf, condition) for name, condition in _CONDITIONS.items()}
        ratios.append(took["asking"] / took["plain"])
        plain.append(took["plain"] / N_HITS)
    note = f"plain {Spread.of(plain).median * 1000:.1f} ms a hit"
    what = f'{N_HITS} hits of `if $trace_calls("malloc") > N`, vs `if size_bytes > N`'
    return [
        Row(
            "gdbext run, one question, from start to end",
            f"{BOARD}, QEMU and GDB included",
            SECONDS,
            Spread.of(whole),
            *SESSION_LIMITS,
        ),
        Row(what, BOARD, RATIO, Spread.of(ratios), *CONDITION_LIMITS, note=note),
    ]


def _gdbext(words: list[str], directory: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "gdbext.cli", *words],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"gdbext {words[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def _timed_run(script: Path, directory: Path) -> float:
    started = time.monotonic()
    _gdbext(["run", str(script)], directory)
    return time.monotonic() - started


def _hits(elf: Path, condition: str) -> float:
    """Seconds from `continue` to the stop at the last hit."""
    commands = [
        "trace start",
        "set $hits = 0",
        f"break malloc if ($hits = $hits + 1) == {N_HITS} || {condition}",
        "python import time; began = time.monotonic()",
        "continue",
        "python print('took', time.monotonic() - began, gdb.convenience_variable('hits'))",
        "kill",
    ]
    words = ["debug", str(elf), "--board", BOARD, "--gdb", "-nx", "-batch"]
    for command in commands:
        words += ["-ex", command]
    output = _gdbext(words, elf.parent)
    found = re.search(rf"^took ([\d.]+) {N_HITS}$", output, re.MULTILINE)
    if found is None:
        raise BenchError(f"GDB: the condition did not stop at hit {N_HITS}: {output.strip()}")
    return float(found[1])
