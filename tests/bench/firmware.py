# SPDX-License-Identifier: GPL-2.0-or-later
"""The benchmark firmware (tests/firmware/bench.c), built for as many rounds as are wanted; the same
of the scheduler with three tasks (tests/firmware/engine/tasks.c)."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path
from typing import Final

from tests.bench.machine import ROOT
from tests.bench.processes import BenchError

__all__ = [
    "GIGA",
    "bench_firmware",
    "did_its_work",
    "iterations_for",
    "iterations_of_insns",
    "tasks_firmware",
]

GIGA: Final = 1_000_000_000
INSNS_PER_ITERATION: Final = 81_000
"""A little less than on any board."""

_DIRECTORY: Final = ROOT / "tests" / "firmware"


def bench_firmware(board: str, iterations: int, *, fresh: bool = False) -> Path:
    """The ELF for a board; `fresh`: with other data in each iteration.

    Raises:
        BenchError: it cannot be built.
    """
    name = f"bench-{'fresh-' if fresh else ''}{board}.elf"
    return _built(f"build/bench-{iterations}", name, f"ITER={iterations}")


def tasks_firmware(board: str, rounds: int) -> Path:
    """The ELF of three tasks under a scheduler, which work for so many rounds each.

    Raises:
        BenchError: it cannot be built.
    """
    return _built(f"build/tasks-{rounds}", f"tasks-{board}-O2.elf", f"ROUNDS={rounds}")


def _built(build: str, name: str, length: str) -> Path:
    path = f"{build}/{name}"
    command = ["make", "-s", "-C", str(_DIRECTORY), f"BUILD={build}", length, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return _DIRECTORY / path


def did_its_work(output: Path, iterations: int) -> None:
    """Check what the firmware has printed: a run cut short is no measurement.

    Raises:
        BenchError: it has not done all iterations.
    """
    if f"counter iterations {iterations}\n" not in output.read_text(errors="replace"):
        raise BenchError(f"{output}: the firmware did not do its {iterations} iterations")


def iterations_for(seconds: float, measured_iterations: int, measured_s: float) -> int:
    """How many iterations take `seconds`, in thousands, from a measurement."""
    return math.ceil(seconds / measured_s * measured_iterations / 1000) * 1000


def iterations_of_insns(n_insns: int) -> int:
    """How many iterations execute at least `n_insns` instructions on the Cortex-M board."""
    return math.ceil(n_insns / INSNS_PER_ITERATION)
