# SPDX-License-Identifier: GPL-2.0-or-later
"""Row: QEMU's own log of executed blocks (`-d exec,nochain`), for comparison.

It is so slow and large that it gets little work, and start-up is taken off: the time of a run with
hardly any work. Plain QEMU's time for the little work comes from a run with much.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from tests.bench.firmware import INSNS_PER_ITERATION, iterations_for
from tests.bench.pairing import Spread, take_turns
from tests.bench.qemu_runs import PLAIN, Run, run_bench
from tests.bench.settings import Settings
from tests.bench.table import BYTES, RATIO, Row

__all__ = ["rows"]

BOARD: Final = "mps2-an385"
SHORT: Final = 40
"""Iterations that are logged: some 70 MB."""
MEASURED: Final = 6000


def rows(settings: Settings) -> list[Row]:
    """Slowdown by the log, and its size."""
    release = settings.own
    where = f"QEMU {release.name}, {BOARD}"
    log = settings.directory / "exec.log"
    fast = run_bench(settings, release, BOARD, MEASURED, PLAIN)
    long = iterations_for(settings.seconds, MEASURED, fast.cpu_s)
    run = partial(run_bench, settings, release, BOARD)
    sizes: list[float] = []

    def logged() -> Run:
        words = ["-d", "exec,nochain", "-D", str(log)]
        try:
            result = run(SHORT, PLAIN, extra=words)
            sizes.append(log.stat().st_size / (SHORT * INSNS_PER_ITERATION))
        finally:
            log.unlink(missing_ok=True)
        return result

    variants: dict[str, Callable[[], Run]] = {
        "nothing": partial(run, 1, PLAIN),
        "plain": partial(run, long, PLAIN),
        "log": logged,
    }
    rounds = take_turns(
        variants,
        settings.rounds,
        say=settings.saying(f"exec log, {where}"),
    )
    slowdowns = []
    for result in rounds:
        start_s = result["nothing"].wall_s
        each_s = (result["plain"].wall_s - start_s) / (long - 1)
        slowdowns.append((result["log"].wall_s - start_s) / (SHORT - 1) / each_s)
    what = "QEMU's log, -d exec,nochain"
    note = f"start-up taken off; {SHORT * INSNS_PER_ITERATION / 1e6:.0f} M instructions logged"
    return [
        Row(f"{what}, vs plain", where, RATIO, Spread.of(slowdowns), note=note),
        Row(f"{what}: bytes per instruction", where, BYTES, Spread.of(sizes)),
    ]
