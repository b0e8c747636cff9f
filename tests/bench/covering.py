# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows: how long `gdbext coverage` takes for a large program that ran for long, and its memory."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from gdbext.target.boards import load_board
from tests.bench.firmware import GIGA, iterations_of_insns
from tests.bench.machine import ROOT
from tests.bench.pairing import Spread
from tests.bench.processes import BenchError, Usage, run
from tests.bench.qemu_runs import RECORDING, plugin_words, size_of
from tests.bench.settings import Settings
from tests.bench.table import MIB, SECONDS, Row
from tests.support.big_program import write_big_program

__all__ = ["rows"]

BOARD: Final = "mps2-an385"
N_FUNCTIONS: Final = 3200
COLD, CACHED, MEMORY = (5.0, 3.0), (1.0, 0.7), (500.0, 300.0)


def rows(settings: Settings) -> list[Row]:
    """Without anything kept of the ELF file, and with what the run before has kept."""
    board = load_board(BOARD)
    qemu = settings.own.program(board.qemu)
    settings.say("coverage: building a large program (a minute)")
    elf = _build(settings.directory / "big")
    cold: list[Usage] = []
    cached: list[Usage] = []
    with settings.live_directory() as live:
        words = plugin_words(qemu, RECORDING, live)
        command = [str(qemu.path), *qemu.arguments, *board.arguments(elf), *words]
        run(command, settings.directory / "output", qemu.environment)
        n_insns = size_of(live).n_insns
        kept = settings.directory / "cache"
        for number in range(settings.rounds):
            settings.say(f"coverage: round {number + 1} of {settings.rounds}")
            shutil.rmtree(kept, ignore_errors=True)
            cold.append(_report(settings, live, elf, kept))
            cached.append(_report(settings, live, elf, kept))
        shutil.rmtree(kept, ignore_errors=True)
    what = f"coverage of {elf.stat().st_size / 1e6:.1f} MB of ELF file"
    note = f"{n_insns / GIGA:.2f} G instructions, {N_FUNCTIONS} functions; CPU time "
    times = [
        Row(
            what,
            where,
            SECONDS,
            Spread.of(u.wall_s for u in used),
            *limits,
            note=note + SECONDS.write(Spread.of(u.cpu_s for u in used).median),
        )
        for where, used, limits in (("from cold", cold, COLD), ("with the cache", cached, CACHED))
    ]
    memory = Spread.of(u.max_rss_bytes / 2**20 for u in cold)
    return [*times, Row(f"{what}, memory", "from cold", MIB, memory, *MEMORY)]


def _build(folder: Path) -> Path:
    write_big_program(folder, N_FUNCTIONS)
    elf = folder / f"big-{BOARD}.elf"
    iterations = iterations_of_insns(GIGA)
    words = ["make", "-s", "-C", str(ROOT / "tests" / "firmware"), f"BUILD={folder}"]
    words += [f"BIG={folder}", f"ITER={iterations}", str(elf)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()}")
    return elf


def _report(settings: Settings, live: Path, elf: Path, kept: Path) -> Usage:
    output = settings.directory / "output"
    command = [sys.executable, "-m", "gdbext.cli", "coverage", str(live), "--elf", str(elf)]
    usage = run(command, output, {"XDG_CACHE_HOME": str(kept), "PYTHONPATH": str(ROOT)})
    found = re.search(r"^functions .*\([\d,]+ of ([\d,]+)\)", output.read_text(), re.MULTILINE)
    if found is None or int(found[1].replace(",", "")) < N_FUNCTIONS:
        raise BenchError(f"{output}: no coverage of {N_FUNCTIONS} functions")
    return usage
