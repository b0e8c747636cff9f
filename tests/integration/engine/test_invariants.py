# SPDX-License-Identifier: GPL-2.0-or-later
"""What must hold for every recording, for programs that keep no books of their calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdbext.target.boards import load_board
from tests.integration.engine.runs import FindQemu, assert_sums
from tests.support.books import Found
from tests.support.firmware import counters, firmware_path
from tests.support.qemu_runs import icount, record

TRAPS = ("interrupts", "pendsv", "svcs", "faults")


@pytest.mark.parametrize(
    ("program", "board_name", "variant"),
    [
        ("basic", "mps2-an505", "O0"),
        ("basic", "microbit", "O2"),
        ("basic", "vexpress-a9", "O2"),
        ("basic", "virt-rv64", "O0"),
        ("basic", "q35-x86_64", "O2"),
        ("wait", "virt-aarch64", ""),
        ("demo", "mps2-an385", "O0"),
        ("newlib", "mps2-an385", ""),
    ],
)
def test_nothing_is_lost_or_counted_twice(
    program: str, board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    board = load_board(board_name)
    elf = firmware_path(program, board_name, variant)

    done = record(board, elf, find_qemu(board.qemu), tmp_path / "t", icount(board))

    found = Found(done.directory, elf)
    counted = counters(done.text())
    assert_sums(found)
    if program in ("basic", "wait"):
        assert found.stats.traps == sum(counted[name] for name in TRAPS)
    assert found.stats.unmatched_returns == found.stats.unexplained == 0


def test_two_cores_have_stacks_of_their_own(find_qemu: FindQemu, tmp_path: Path) -> None:
    board = load_board("virt-rv64")
    elf = firmware_path("smp", "virt-rv64")

    done = record(board, elf, find_qemu(board.qemu), tmp_path / "t", ["-smp", "2"])

    found = Found(done.directory, elf)
    assert_sums(found)
    assert {row.vcpu for row in found.tables.tasks} == {0, 1}
