# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks that are counted many at once, against the same recording gone through block by block.

The block-by-block way is what the other tests here compare with the programs' books; slices of a
few blocks leave no room for a stride.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gdbext.replay.calls import CallTables
from gdbext.replay.tables import Tables
from tests.integration.engine.runs import FindQemu, run
from tests.support.books import Found
from tests.support.firmware import firmware_path
from tests.support.gdbext_cli import gdbext

FEW_BLOCKS = 5

PROGRAMS = [
    ("calls", "mps2-an385", "O2"),
    ("traps", "virt-rv32", "O0"),
    ("tasks", "virt-aarch64", "O0-shared"),
    ("coop", "mps2-an385", "O2-shared"),
]


@pytest.mark.parametrize(("program", "board_name", "variant"), PROGRAMS)
def test_strides_count_what_single_blocks_do(
    program: str,
    board_name: str,
    variant: str,
    find_qemu: FindQemu,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, found = run(program, board_name, variant, find_qemu, tmp_path)
    elf = firmware_path(program, board_name, variant)

    assert_same_by_single_blocks(found, tmp_path / variant, elf, monkeypatch)


@pytest.mark.parametrize("program", ["bench", "bench-fresh"])
def test_strides_of_a_long_run_count_what_single_blocks_do(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elf, recording = firmware_path(program, "mps2-an385"), tmp_path / "run.rec"
    words = ("--board", "mps2-an385", "--insns", 5_000_000, "-o", recording)
    gdbext("record", elf, *words, runtime=tmp_path)

    found = Found(recording, elf)

    assert found.program.tables.instructions >= 5_000_000
    assert_same_by_single_blocks(found, recording, elf, monkeypatch)


def assert_same_by_single_blocks(
    found: Found, recording: Path, elf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tables are equal, but for the order in which nodes and edges were made."""
    monkeypatch.setattr("gdbext.replay.replay.SLICE_BLOCKS", FEW_BLOCKS)
    single = Found(recording, elf)

    assert tables_of(single.program.tables) == tables_of(found.program.tables)
    assert tree_of(single.tables) == tree_of(found.tables)
    assert single.tables.handlers == found.tables.handlers
    assert single.tables.tasks == found.tables.tasks
    assert single.stats == found.stats


def tables_of(tables: Tables) -> tuple[object, ...]:
    """What is counted by block."""
    edges = sorted(edge for edge in tables.edges if edge.n or edge.recovered)
    return list(tables.executions), edges, sorted(tables.cuts), sorted(tables.traps)


def tree_of(tables: CallTables) -> list[tuple[object, ...]]:
    """Each path with its calls and instructions."""
    paths: list[tuple[object, ...]] = [()]
    rows: list[tuple[object, ...]] = []
    for node in tables.nodes[1:]:
        paths.append((*paths[node.parent], node.kind, node.function))
        rows.append((*paths[-1], node.calls, node.self_insns, node.inclusive_insns))
    return sorted(rows)
