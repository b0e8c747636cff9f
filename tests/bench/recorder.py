# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows: what the recorder costs the benchmark firmware in time, disk and memory."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.bench.firmware import iterations_for
from tests.bench.machine import QemuRelease
from tests.bench.pairing import Spread, differences, ratios, take_turns
from tests.bench.qemu_runs import LOADED, PLAIN, RECORDING, Run, run_bench
from tests.bench.settings import Settings
from tests.bench.table import BYTES, MIB, RATIO, Row

__all__ = ["memory_row", "rows", "slowdown_note"]

BOARDS: Final = ("mps2-an385", "virt-rv64", "virt-aarch64")

Limits = tuple[float, float]
"""What it must be at most, and what it should be."""

LOADED_LIMITS: Final[dict[str, Limits]] = {
    "v1": (1.2, 1.12),
    "v2": (1.08, 1.03),
    "v7": (1.08, 1.03),
}
RECORDING_LIMITS: Final[dict[str, Limits]] = {
    "v1": (1.9, 1.5),
    "v2": (1.65, 1.3),
    "v7": (1.65, 1.3),
}
SIZE_LIMITS: Final[Limits] = (0.005, 0.001)
MEMORY_LIMITS_MIB: Final[Limits] = (64, 32)

SHORT: Final = 6000
"""Iterations of the run that tells how many are needed."""


def rows(settings: Settings) -> list[Row]:
    """The rows for every QEMU; `all_boards` for every board too."""
    result = []
    for board in BOARDS if settings.all_boards else BOARDS[:1]:
        iterations = _iterations(settings, board)
        for release in settings.qemus:
            result += _rows_of(settings, release, board, iterations)
    return result


def slowdown_note(rounds: list[dict[str, Run]], over: str) -> str:
    """The same ratio for CPU time, and how long a plain run took."""
    cpu = Spread.of(ratios(rounds, over, PLAIN, lambda run: run.cpu_s)).median
    plain = Spread.of(result[PLAIN].wall_s for result in rounds).median
    return f"CPU time {RATIO.write(cpu)}; plain {plain:.1f} s"


def memory_row(rounds: list[dict[str, Run]], where: str) -> Row:
    """Memory of QEMU that records, over plain."""
    more = differences(rounds, RECORDING, PLAIN, lambda run: run.max_rss_bytes)
    plain = Spread.of(result[PLAIN].max_rss_bytes for result in rounds).median
    return Row(
        "memory, recording over plain",
        where,
        MIB,
        Spread.of(value / 2**20 for value in more),
        *MEMORY_LIMITS_MIB,
        note=f"plain {plain / 2**20:.0f} MiB",
    )


def _iterations(settings: Settings, board: str) -> int:
    """So many that no plain run is shorter than wanted, whichever QEMU is fastest."""
    fastest = min(
        run_bench(settings, release, board, SHORT, PLAIN).cpu_s for release in settings.qemus
    )
    return iterations_for(settings.seconds, SHORT, fastest)


def _rows_of(settings: Settings, release: QemuRelease, board: str, iterations: int) -> list[Row]:
    where = f"QEMU {release.name}, {board}"
    run = partial(run_bench, settings, release, board, iterations)
    rounds = take_turns(
        {kind: partial(run, kind) for kind in (PLAIN, LOADED, RECORDING)},
        settings.rounds,
        warm_up=settings.warm_up,
        say=settings.saying(where),
    )
    result = []
    for what, kind, limits in (
        ("plugin loaded, not recording, vs plain", LOADED, LOADED_LIMITS),
        ("recording everything to disk, vs plain", RECORDING, RECORDING_LIMITS),
    ):
        spread = Spread.of(ratios(rounds, kind, PLAIN, lambda run: run.wall_s))
        note = slowdown_note(rounds, kind)
        result.append(Row(what, where, RATIO, spread, *limits[release.family], note=note))
    sizes = Spread.of(result[RECORDING].bytes_per_insn for result in rounds)
    result.append(Row("bytes per instruction on disk", where, BYTES, sizes, *SIZE_LIMITS))
    result.append(memory_row(rounds, where))
    if release == settings.own:
        result += _fresh(settings, release, board, iterations)
    return result


def _fresh(settings: Settings, release: QemuRelease, board: str, iterations: int) -> list[Row]:
    """The same work on other data each time: branches that nobody can foresee."""
    where = f"QEMU {release.name}, {board}, unforeseeable data"
    run = partial(run_bench, settings, release, board, iterations, fresh=True)
    rounds = take_turns(
        {kind: partial(run, kind) for kind in (PLAIN, RECORDING)},
        max(1, settings.rounds // 2),
        say=settings.saying(where),
    )
    slowdown = Spread.of(ratios(rounds, RECORDING, PLAIN, lambda run: run.wall_s))
    sizes = Spread.of(result[RECORDING].bytes_per_insn for result in rounds)
    note = slowdown_note(rounds, RECORDING)
    return [
        Row("recording everything to disk, vs plain", where, RATIO, slowdown, note=note),
        Row("bytes per instruction on disk", where, BYTES, sizes),
    ]
