# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs drawn from a seed, under a fast timer, compared with an instrumented build's counts."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from gdbext.replay.calls import HANDLER_KINDS
from gdbext.target.boards import load_board
from tests.integration.engine.runs import FindQemu, arcs_by_site, assert_sums
from tests.support.books import Found
from tests.support.firmware import FIRMWARE_DIRECTORY, build_given, counters
from tests.support.qemu_runs import icount, record
from tests.support.random_programs import RandomProgram

BOARD = "mps2-an385"
HOST = FIRMWARE_DIRECTORY / "random" / "host.c"


@dataclass(frozen=True)
class Truth:
    """What the instrumented build has counted, by name."""

    total: int
    """Checksum of the work."""
    arcs: Counter[tuple[str, str]]
    """Calls by caller and callee."""
    depths: Counter[tuple[str, int]]
    """Calls by function and depth below `random_program`."""

    @property
    def calls(self) -> Counter[str]:
        """Calls by function."""
        calls: Counter[str] = Counter()
        for (function, _), n in self.depths.items():
            calls[function] += n
        return calls


@pytest.mark.parametrize("seed", range(1, 7))
def test_calls_of_random_programs_are_an_instrumented_builds(
    seed: int, find_qemu: FindQemu, tmp_path: Path
) -> None:
    program = RandomProgram(seed, rounds=seed % 2 == 1)
    source = tmp_path / "program.c"
    source.write_text(program.source())

    truth = instrumented(source)

    assert truth.calls.total() > 2000
    for variant in ("O0", "O2"):
        found, total = on_board(source, variant, find_qemu)
        assert total == truth.total
        assert_sums(found)
        calls = found.calls()
        assert {name: calls.get(name, 0) for name in truth.calls} == truth.calls
        arcs = arcs_by_site(found)
        assert {arc: n for arc, n in arcs.items() if truth.calls.keys() >= set(arc)} == truth.arcs
        if variant == "O0" or not program.rounds:  # a chain that comes round is one node
            assert depths(found, set(truth.calls)) == truth.depths
        assert (found.stats.unmatched_returns, found.stats.unexplained) == (0, 0)
        assert (found.stats.unwinds, found.stats.middle_entries) == (0, 0)
        assert found.stats.task_switches == found.stats.abandoned == 0


def instrumented(source: Path) -> Truth:
    """Compile the program for this machine with `-finstrument-functions`, and run it."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    program = source.with_suffix("")
    command = ["gcc", "-O0", "-std=gnu11", "-finstrument-functions", f"-I{HOST.parent}"]
    subprocess.run([*command, "-o", str(program), str(source), str(HOST)], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    words = [line.split() for line in printed.splitlines()]
    return Truth(
        counters(printed)["total"],
        Counter({(w[1], w[2]): int(w[3]) for w in words if w[0] == "arc"}),
        Counter({(w[1], int(w[2])): int(w[3]) for w in words if w[0] == "depth"}),
    )


def on_board(source: Path, variant: str, find_qemu: FindQemu) -> tuple[Found, int]:
    """What the engine finds in a run of the plain build, and the checksum it printed."""
    elf = build_given(source, BOARD, variant)
    board = load_board(BOARD)
    directory = source.with_name(f"run-{variant}")
    done = record(board, elf, find_qemu(board.qemu), directory, icount(board))
    counted = counters(done.text())
    assert counted["interrupts"] > 20
    return Found(done.directory, elf), counted["total"]


def depths(found: Found, functions: set[str]) -> Counter[tuple[str, int]]:
    """Calls by function and depth below `random_program`."""
    result: Counter[tuple[str, int]] = Counter()
    top: dict[int, int] = {}  # node: depth of random_program on its path
    for number, node in enumerate(found.nodes[1:], 1):
        name = found.name(node.function)
        above = node.depth if name == "random_program" else top.get(node.parent)
        if above is None:
            continue
        top[number] = above
        assert node.kind not in HANDLER_KINDS
        assert name in functions
        result[name, node.depth - above] += node.calls
    return result
