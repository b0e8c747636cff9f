# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that QEMU translates again keeps its place in the block table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gdbext.target.boards import load_board
from gdbext.target.qemu_binary import QemuBinary
from tests.support.gdb_stub import Stub
from tests.support.lfsr import lfsr_elf
from tests.support.qemu_runs import icount, running

FindQemu = Callable[[str], QemuBinary]

ROUNDS = 60


def test_code_translated_again_and_again_adds_no_blocks(
    find_qemu: FindQemu, tmp_path: Path
) -> None:
    """A breakpoint that comes and goes makes QEMU translate the code around it each time."""
    board = load_board("mps2-an385")
    qemu = find_qemu(board.qemu)
    elf = lfsr_elf(tmp_path)
    with (
        running(board, elf, qemu, tmp_path / "live", icount(board), gdb=True) as run,
        Stub(run.gdb) as stub,
        run.control() as control,
    ):
        for _ in range(40):
            stub.step()
        address = stub.register(15)
        counts = []

        for _ in range(ROUNDS):
            assert stub.ask(f"Z0,{address:x},2") == "OK"
            stub.go()
            stub.reply()
            assert stub.ask(f"z0,{address:x},2") == "OK"
            stub.step()
            counts.append(control.status().distinct_blocks)

    assert len(set(counts[ROUNDS // 2 :])) == 1, counts
