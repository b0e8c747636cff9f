# SPDX-License-Identifier: GPL-2.0-or-later
"""Row: how fast a recording is replayed, with execution and transition counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from gdbext.target.boards import load_board
from tests.bench.firmware import GIGA, bench_firmware, iterations_of_insns
from tests.bench.machine import ROOT
from tests.bench.pairing import Spread
from tests.bench.processes import BenchError, run
from tests.bench.qemu_runs import RECORDING, plugin_words, size_of
from tests.bench.settings import Settings
from tests.bench.table import INSNS_PER_S, Row

__all__ = ["rows"]

BOARD: Final = "mps2-an385"
N_INSNS: Final = 3 * GIGA // 2
LIMITS: Final = (0.7 * GIGA, 1.5 * GIGA)


def rows(settings: Settings) -> list[Row]:
    """Replay of the benchmark firmware, with the same data each round and with fresh."""
    return [
        _row(settings, fresh=False),
        _row(settings, fresh=True),
    ]


def _row(settings: Settings, *, fresh: bool) -> Row:
    board = load_board(BOARD)
    qemu = settings.own.program(board.qemu)
    elf = bench_firmware(BOARD, iterations_of_insns(N_INSNS), fresh=fresh)
    where = f"{BOARD}, unforeseeable data" if fresh else BOARD
    say = settings.saying(f"replay, {where}")
    with settings.live_directory() as live:
        say("recording")
        words = plugin_words(qemu, RECORDING, live)
        command = [str(qemu.path), *qemu.arguments, *board.arguments(elf), *words]
        run(command, settings.directory / "output", qemu.environment)
        n_insns = size_of(live).n_insns
        if n_insns < N_INSNS:
            raise BenchError(f"{elf}: executes {n_insns} instructions; {N_INSNS} are wanted")
        answers = []
        for number in range(settings.rounds):
            say(f"round {number + 1} of {settings.rounds}")
            answers.append(_replay(live, elf))
    if any(answer["n_insns"] != n_insns for answer in answers):
        raise BenchError(f"{live}: the replay found other than {n_insns} instructions")
    n_blocks = answers[-1]["n_blocks"]
    must, aim = (None, None) if fresh else LIMITS
    return Row(
        "replay with counts and transitions, one core",
        where,
        INSNS_PER_S,
        Spread.of(answer["n_insns"] / answer["cpu_s"] for answer in answers),
        must,
        aim,
        note=f"{n_insns / GIGA:.2f} G instructions, {n_blocks / GIGA:.2f} G blocks",
    )


def _replay(live: Path, elf: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.replay_once", str(live), str(elf)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise BenchError(f"replay: {done.stderr.strip()}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
