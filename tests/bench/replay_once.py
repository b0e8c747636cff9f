# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m tests.bench.replay_once RECORDING ELF`: replay all, print times and totals as JSON.

A process of its own, so that the benchmark's stays small and its processor time is the replay's.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from gdbext.analyses.workspace import Workspace


def main(recording_path: str, elf: str) -> None:
    """Replay with all that an analysis needs."""
    workspace = Workspace(Path(recording_path), Path(elf))
    wall, cpu = time.monotonic(), time.process_time()
    workspace.refresh()
    tables, calls = workspace.program.tables, workspace.program.calls
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    json.dump(
        {
            "wall_s": wall,
            "cpu_s": cpu,
            "n_insns": sum(tables.n_insns.values()),
            "n_blocks": sum(tables.n_blocks.values()),
            "n_traps": tables.stats.traps,
            "n_switches": tables.stats.task_switches,
            "n_paths": len(calls.nodes) - 1,
        },
        sys.stdout,
    )


main(*sys.argv[1:])
