# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls on a board, compared with what callgrind counts for the same source on the host."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gdbext.target.boards import load_board
from tests.integration.engine.runs import FindQemu, arcs_by_site, arcs_in_tree, assert_sums
from tests.support.books import Found
from tests.support.firmware import FIRMWARE_DIRECTORY, counters, firmware_path
from tests.support.qemu_runs import icount, record
from tests.truth.callgrind import Arcs, annotated_arcs, parse_arcs, profile_on_host

SOURCE = FIRMWARE_DIRECTORY / "portable" / "portable.c"


@pytest.fixture(scope="module")
def on_host(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Callgrind's output file, and the checksum of the work."""
    sources = [SOURCE, SOURCE.with_name("host.c")]
    profile, printed = profile_on_host(sources, tmp_path_factory.mktemp("callgrind"))
    return profile, counters(printed)["total"]


def test_callgrind_is_read_as_callgrind_annotate_does(on_host: tuple[Path, int]) -> None:
    profile, _ = on_host

    arcs = parse_arcs(profile, SOURCE.name)

    assert len(arcs) > 30
    assert arcs == annotated_arcs(profile, SOURCE.name)


@pytest.mark.parametrize("board_name", ["mps2-an385", "virt-rv32"])
def test_calls_on_the_board_are_the_hosts(
    board_name: str, on_host: tuple[Path, int], find_qemu: FindQemu, tmp_path: Path
) -> None:
    profile, total = on_host
    board = load_board(board_name)
    elf = firmware_path("portable", board_name, "O0")

    done = record(board, elf, find_qemu(board.qemu), tmp_path / "t", icount(board))

    counted = counters(done.text())
    assert counted["total"] == total
    assert counted["interrupts"] > 50
    found = Found(done.directory, elf)
    assert_sums(found)
    truth = parse_arcs(profile, SOURCE.name)
    here = {f.name for f in found.program.symbols.functions if (f.file or "").endswith(SOURCE.name)}
    assert here.issuperset(name for arc in truth for name in arc)
    assert within(arcs_by_site(found), here) == truth
    assert within(arcs_in_tree(found), here) == truth


def within(arcs: Arcs, functions: set[str]) -> Arcs:
    """The calls between some functions only."""
    return Counter({arc: n for arc, n in arcs.items() if functions.issuperset(arc)})
