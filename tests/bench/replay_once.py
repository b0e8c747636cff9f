# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m tests.bench.replay_once RECORDING ELF`: replay all, print times and totals as JSON.

A process of its own, so that the benchmark's stays small and its processor time is the replay's.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from gdbext.recording.reader import Recording
from gdbext.replay.replay import Replay
from gdbext.symbols import Symbols


def main(recording_path: str, elf: str) -> None:
    """Replay with all that an analysis needs."""
    symbols = Symbols.open(Path(elf))
    vectors = [vector.handler for vector in symbols.vector_table(0) if vector.number > 1]
    with Recording.open(Path(recording_path)) as recording:
        replay = Replay(
            recording, mode_at=symbols.mode_at, m_profile=symbols.m_profile, vectors=vectors
        )
        wall, cpu = time.monotonic(), time.process_time()
        replay.update()
        tables = replay.tables()
        wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    json.dump(
        {
            "wall_s": wall,
            "cpu_s": cpu,
            "n_insns": sum(tables.n_insns.values()),
            "n_blocks": sum(tables.n_blocks.values()),
            "n_edges": len(tables.edges),
        },
        sys.stdout,
    )


main(*sys.argv[1:])
