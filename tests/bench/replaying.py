# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows: how fast a recording is replayed, with counts, calls, handlers and tasks."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gdbext.target.boards import load_board
from tests.bench.firmware import GIGA, bench_firmware, iterations_of_insns, tasks_firmware
from tests.bench.machine import ROOT
from tests.bench.pairing import Spread
from tests.bench.processes import BenchError, run
from tests.bench.qemu_runs import RECORDING, plugin_words, size_of
from tests.bench.settings import Settings
from tests.bench.table import INSNS_PER_S, Row

__all__ = ["rows"]

BOARD: Final = "mps2-an385"
N_INSNS: Final = 3 * GIGA // 2
REPLAY: Final = "replay with counts and transitions, one core"
ENGINE: Final = "replay with calls, handlers and tasks, one core"
INSNS_PER_ROUND: Final = 4500
"""Of the firmware with tasks, a little less than it takes."""


@dataclass(frozen=True)
class _Work:
    """What is replayed."""

    what: str
    where: str
    elf: Path
    must: float | None = None
    aim: float | None = None
    icount: bool = False
    """Time goes by instructions: the timer's interrupts come as often on any machine."""


def rows(settings: Settings) -> list[Row]:
    """Replay of the benchmark firmware, with the same data each round and with fresh; of tasks."""
    n_iterations = iterations_of_insns(N_INSNS)
    same = bench_firmware(BOARD, n_iterations)
    fresh = bench_firmware(BOARD, n_iterations, fresh=True)
    tasks = tasks_firmware(BOARD, N_INSNS // INSNS_PER_ROUND)
    unforeseeable = f"{BOARD}, unforeseeable data"
    return [
        _row(settings, _Work(REPLAY, BOARD, same, 0.7 * GIGA, 1.5 * GIGA)),
        _row(settings, _Work(ENGINE, unforeseeable, fresh, 0.4 * GIGA, 1.0 * GIGA)),
        _row(settings, _Work(ENGINE, f"{BOARD}, tasks", tasks, 0.4 * GIGA, 1.0 * GIGA)),
        _row(settings, _Work(ENGINE, f"{BOARD}, tasks, fast timer", tasks, icount=True)),
    ]


def _row(settings: Settings, work: _Work) -> Row:
    board = load_board(BOARD)
    qemu = settings.own.program(board.qemu)
    say = settings.saying(f"replay, {work.where}")
    with settings.live_directory() as live:
        say("recording")
        words = plugin_words(qemu, RECORDING, live)
        if work.icount:
            assert board.icount is not None
            words += ["-icount", board.icount]
        command = [str(qemu.path), *qemu.arguments, *board.arguments(work.elf), *words]
        run(command, settings.directory / "output", qemu.environment)
        n_insns = size_of(live).n_insns
        if n_insns < N_INSNS:
            raise BenchError(f"{work.elf}: executes {n_insns} instructions; {N_INSNS} are wanted")
        answers = []
        for number in range(settings.rounds):
            say(f"round {number + 1} of {settings.rounds}")
            answers.append(_replay(live, work.elf))
    if any(answer["n_insns"] != n_insns for answer in answers):
        raise BenchError(f"{live}: the replay found other than {n_insns} instructions")
    return Row(
        work.what,
        work.where,
        INSNS_PER_S,
        Spread.of(answer["n_insns"] / answer["cpu_s"] for answer in answers),
        work.must,
        work.aim,
        note=_note(answers[-1]),
    )


def _note(answer: dict[str, Any]) -> str:
    n_insns, n_traps, n_switches = (answer[key] for key in ("n_insns", "n_traps", "n_switches"))
    parts = [f"{n_insns / GIGA:.2f} G instructions, {answer['n_blocks'] / GIGA:.2f} G blocks"]
    if n_traps:
        parts.append(f"a trap every {n_insns // n_traps}")
    if n_switches:
        parts.append(f"a task switch every {n_insns // n_switches}")
    return ", ".join(parts)


def _replay(live: Path, elf: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.replay_once", str(live), str(elf)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise BenchError(f"replay: {done.stderr.strip()}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
