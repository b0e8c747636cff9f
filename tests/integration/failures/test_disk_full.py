# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk fills: the guest goes on, and what was recorded until then is right."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gdbext.errors import ControlError
from gdbext.recording.format import Event
from gdbext.recording.reader import Recording
from gdbext.target.boards import load_board
from gdbext.target.qemu_binary import QemuBinary
from tests.integration.failures.programs import ENDS_WITH, many_blocks_elf, wanderer_elf
from tests.integration.failures.small_disk import SmallDisk, small_disk
from tests.support.executed import executed, marks
from tests.support.firmware import counters, firmware_path
from tests.support.gdb_session import gdb_batch
from tests.support.gdbext_cli import environment, gdbext, gdbext_command
from tests.support.qemu_runs import record, running, wait_until

BOARD = load_board("mps2-an385")
ROUNDS = 6_000_000
FITS = "8m"
"""Room for the raw buffers (4.1 MiB), the block table, and a third of the stream."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A file system with room for the beginning of a recording."""
    with small_disk(tmp_path / "disk", FITS) as made:
        yield made


@pytest.fixture
def qemu(find_qemu: Callable[[str], QemuBinary]) -> QemuBinary:
    """QEMU for the board."""
    return find_qemu(BOARD.qemu)


def recorder_lines(text: str) -> list[str]:
    """What the recorder said, among QEMU's and the guest's lines."""
    return [line for line in text.splitlines() if line.startswith("gdbext: ")]


def test_no_room_at_the_start_is_one_line_and_leaves_nothing(
    tmp_path: Path, disk: SmallDisk, qemu: QemuBinary
) -> None:
    elf = firmware_path("basic", BOARD.name, "O2")
    disk.resize("2m")
    with running(BOARD, elf, qemu, disk.path / "live") as run:
        assert run.wait() == 1
    with small_disk(tmp_path / "tiny", "128k") as tiny:
        with running(BOARD, elf, qemu, tiny.path / "live") as second:
            assert second.wait() == 1
        [blocks_message] = recorder_lines(second.text())

    [message] = recorder_lines(run.text())
    assert message.startswith(f"gdbext: {disk.path}/live/live: No space left on device (needs ")
    assert "/blocks: " in blocks_message
    assert "No space left on device" in blocks_message
    assert list((disk.path / "live").iterdir()) == []
    disk.resize(FITS)
    assert counters(record(BOARD, elf, qemu, disk.path / "live").text())["done"] == 1


def test_full_in_the_middle_keeps_an_exact_prefix_and_the_guest_goes_on(
    tmp_path: Path, disk: SmallDisk, qemu: QemuBinary
) -> None:
    elf = wanderer_elf(tmp_path, ROUNDS)
    whole = record(BOARD, elf, qemu, tmp_path / "whole")
    with running(BOARD, elf, qemu, disk.path / "live") as run:
        assert run.wait() == 0

    assert ENDS_WITH in whole.text()
    assert ENDS_WITH in run.text()
    assert recorder_lines(run.text()) == [
        "gdbext: recording stopped: cannot write the recording: No space left on device; "
        "what ran until now is kept"
    ]
    with Recording.open(disk.path / "live") as recording:
        assert recording.end is None
        found = executed(recording)[0]
    truth = executed(tmp_path / "whole")[0].addresses
    assert 1_000_000 < len(found.addresses) < len(truth)
    assert found.addresses == truth[: len(found.addresses)]
    assert [kind for _, kind, _ in marks(found)] == [1]
    assert found.events[-1].event == Event.GAP
    assert found.events[-1].place == len(found.addresses)
    assert found.events[-1].numbers == (1, 0)


def test_status_says_why_and_clear_begins_anew_after_space_was_freed(
    tmp_path: Path, disk: SmallDisk, qemu: QemuBinary
) -> None:
    elf = wanderer_elf(tmp_path, 0xFFFFFFFF)
    with running(BOARD, elf, qemu, disk.path / "live") as run:
        with run.control() as client:
            wait_until(lambda: client.status().state == "failed", "the disk is full")
            wait_until(lambda: client.status().gaps == 1, "the vCPU has taken notice")
            failed = client.status()
            with pytest.raises(ControlError, match=r"No space left on device.*use clear"):
                client.start()
            with pytest.raises(ControlError, match="No space left on device"):
                client.finish()
            assert client.sync() == failed

            disk.resize("40m")
            assert client.clear() == failed.generation + 1
            cleared = client.status()
            assert not client.start().already
            wait_until(lambda: client.status().chunks >= 2, "chunks are written again")
            client.stop()
            end = client.finish()

        assert run.process.poll() is None
    assert not failed.recording
    assert "No space left on device" in failed.message
    assert (cleared.state, cleared.message, cleared.gaps, cleared.instructions) == (
        "stopped",
        "",
        0,
        0,
    )
    assert (end.state, end.gaps) == ("finished", 0)
    with Recording.open(disk.path / "live") as recording:
        assert recording.cut is None
        assert recording.end is not None
        found = executed(recording)[0]
        assert recording.end[0].instructions == len(found.addresses) == end.instructions


def test_block_table_that_cannot_grow_ends_recording_for_good(
    tmp_path: Path, disk: SmallDisk, qemu: QemuBinary
) -> None:
    elf = many_blocks_elf(tmp_path, 40_000)
    disk.resize("4600k")  # raw buffers and the first piece of the table, not the second
    with running(BOARD, elf, qemu, disk.path / "live") as run, run.control() as client:
        wait_until(lambda: client.status().gaps == 1, "the table is full")
        failed = client.status()
        disk.resize("40m")
        # What was translated meanwhile can never be recorded: a recording that begins anew would
        # lack it without a word.
        with pytest.raises(ControlError, match="blocks were missed"):
            client.clear()
        with pytest.raises(ControlError, match="start QEMU again"):
            client.start()

        assert run.process.poll() is None
    assert failed.state == "failed"
    assert "No space left on device" in failed.message
    with Recording.open(disk.path / "live") as recording:
        found = executed(recording)[0]
    first = found.addresses[0]
    assert 10_000 < len(found.addresses) <= 40_001
    assert list(found.addresses) == [first + 2 * i for i in range(len(found.addresses))]


@pytest.mark.parametrize("size", ["2m", FITS])
def test_record_on_a_full_disk_is_125_and_leaves_no_half_file(
    tmp_path: Path, disk: SmallDisk, size: str
) -> None:
    elf = wanderer_elf(tmp_path, ROUNDS)
    disk.resize(size)

    done = gdbext("record", elf, "--board", BOARD.name, "-o", disk.path / "t.rec", runtime=tmp_path)

    lines = done.err.splitlines()
    assert done.status == 125
    assert "No space left on device" in lines[-1]
    assert all(line.startswith("gdbext: ") for line in lines)
    assert not (disk.path / "t.rec").exists()
    kept = sorted(path.name for path in disk.path.iterdir())
    if size == "2m":
        assert len(lines) == 1
        assert kept == []
    else:
        assert len(kept) == 1
        assert lines[-1].endswith(f"what was recorded is in {disk.path / kept[0]}")
        with Recording.open(disk.path / kept[0]) as recording:
            assert len(executed(recording)[0].addresses) > 1_000_000


def test_record_that_could_be_saved_but_is_incomplete_is_125(
    tmp_path: Path, disk: SmallDisk
) -> None:
    elf = wanderer_elf(tmp_path, ROUNDS)
    output = disk.path / "t.rec"
    running_record = subprocess.Popen(
        gdbext_command("record", elf, "--board", BOARD.name, "-o", output),
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert running_record.stderr is not None
    first = running_record.stderr.readline().decode()
    disk.resize("64m")  # now the saved copy finds room
    rest = running_record.stderr.read().decode()

    assert running_record.wait(60) == 125
    assert first.startswith("gdbext: recording stopped: cannot write the recording: No space left")
    assert f"gdbext: {output}: the recording is incomplete: " in rest
    with Recording.open(output) as recording:
        assert executed(recording)[0].events[-1].event == Event.GAP
    analysed = gdbext("analyze", output, "--elf", elf, runtime=tmp_path)
    assert analysed.status == 0
    assert "Gaps: 1, " in analysed.out


def test_dump_to_a_full_disk_is_one_line_and_leaves_the_old_file(
    tmp_path: Path, disk: SmallDisk
) -> None:
    elf = wanderer_elf(tmp_path, 1_000_000)
    saved = tmp_path / "t.rec"
    assert gdbext("record", elf, "--board", BOARD.name, "-o", saved, runtime=tmp_path).status == 0
    disk.resize("64k")
    (disk.path / "t.rec").write_text("old")

    done = gdb_batch(
        f"trace load {saved}", f"trace dump {disk.path}/t.rec", runtime=tmp_path, elf=elf
    )

    said = [line for line in done.err.splitlines() if "No space left" in line]
    assert said == [f"{disk.path}/t.rec: cannot be written: No space left on device"]
    assert "Traceback" not in done.err
    assert [path.name for path in disk.path.iterdir()] == ["t.rec"]
    assert (disk.path / "t.rec").read_text() == "old"
