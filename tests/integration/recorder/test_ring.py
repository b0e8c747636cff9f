# SPDX-License-Identifier: GPL-2.0-or-later
"""A ring keeps the newest part of a run, exactly, also while it turns and when QEMU is killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gdbext.recording.reader import Recording
from gdbext.recording.writer import write_recording
from gdbext.target.boards import load_board
from gdbext.target.qemu_binary import QemuBinary
from tests.support.executed import executed
from tests.support.lfsr import BOARD, contradiction, lfsr_elf
from tests.support.qemu_runs import running, wait_until

SIZE = 1 << 16


def test_a_ring_holds_the_newest_part_while_it_turns_and_after_a_kill(
    find_qemu: Callable[[str], QemuBinary], tmp_path: Path
) -> None:
    board = load_board(BOARD)
    elf = lfsr_elf(tmp_path)
    live = tmp_path / "live"
    cleared = 0

    with running(board, elf, find_qemu(board.qemu), live, options=f"ring={SIZE}") as run:
        with run.control() as client:
            wait_until(lambda: client.status().dropped_instructions > 0, "a turn of the ring")
        with Recording.open(live) as recording:
            for _ in range(5):
                cleared += recording.refresh()
                for _ in recording.data():
                    pass
        with run.control() as client:
            before = client.status()
            wait_until(
                lambda: client.status().dropped_instructions > before.dropped_instructions,
                "another turn",
            )
            now = client.status()
        run.process.kill()
        run.process.wait()

    assert now.ring == SIZE
    with Recording.open(live) as recording:
        assert recording.cut is None
        first = recording.chunks[0]
        dropped = recording.stream.dropped[0].instructions
        assert first.seq == recording.meta["ring"]["dropped"][0]["chunks"] > 0
        assert first.first_insn == dropped >= now.dropped_instructions
        chunks = sum(chunk.record.end - chunk.record.offset for chunk in recording.chunks)
        assert SIZE // 2 < chunks < 2 * SIZE
        assert (live / "stream").stat().st_size < 2 * SIZE + 4096
        (ours,) = executed(recording)
        borders = [chunk.first_insn - dropped for chunk in recording.chunks]
        write_recording(recording, tmp_path / "saved.rec")
    assert len(ours.addresses) > 100_000
    for border in [*borders, len(ours.addresses)]:  # all of it would take a minute
        assert contradiction(ours.addresses[max(border - 50_000, 0) : border + 50_000]) is None
    with Recording.open(tmp_path / "saved.rec") as saved:
        assert saved.cut is None
        assert saved.end is not None
        assert saved.end[0].instructions == dropped + len(ours.addresses)
        assert len(saved.chunks) >= len(recording.chunks)
