# SPDX-License-Identifier: GPL-2.0-or-later
"""What `trace dump` writes: a live directory in one file, whole or not at all."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from typing import IO, Any

import pytest

from gdbext.errors import GdbextError, TraceFormatError
from gdbext.recording import Recording, VcpuTotals, write_recording
from tests.support.recordings import (
    LiveDirectory,
    blocks_of,
    file_bytes,
    insns_of,
    some_steps,
)
from tests.support.tokens import Step, decode, encode


def steps_of(recording: Recording) -> list[list[Step]]:
    return [decode(c.raw, recording.blocks.count, c.run) for c in recording.data()]


def dumped(live: LiveDirectory, tmp_path: Path, **meta: Any) -> Recording:
    with Recording.open(live.path) as recording:
        write_recording(recording, tmp_path / "run.rec", meta)
    return Recording.open(tmp_path / "run.rec")


def test_live_directory_becomes_one_file(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    first, full = some_steps(3), some_steps(4)
    live.write_stream(file_bytes([first], end=False))
    live.put_buffer(0, encode(full)[0], 0, seq=1, state=2)
    still_open: list[Step] = [1] * 200
    live.put_buffer(1, *encode(still_open, end=False), seq=2)

    recording = dumped(live, tmp_path, board="mps2-an385")

    assert steps_of(recording) == [first, full, still_open]
    assert recording.meta == {"target": "arm", "vcpus": 1, "board": "mps2-an385"}
    assert recording.cut is None
    everything = first + full + still_open
    assert recording.end == (VcpuTotals(insns_of(everything), blocks_of(everything)),)
    assert [chunk.n_insns for chunk in recording.chunks] == [
        insns_of(first),
        insns_of(full),
        insns_of(still_open),
    ]
    assert [chunk.time_ns for chunk in recording.chunks] == [1000, 5001, 5002]


def test_stream_records_are_copied_as_they_are(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    stream = file_bytes([some_steps(3)], end=False)
    live.write_stream(stream)

    dumped(live, tmp_path).close()

    assert (tmp_path / "run.rec").read_bytes()[: len(stream)] == stream


def test_last_block_that_was_left_in_the_middle_is_cut(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    live.put_buffer(0, *encode([1, 1, 1], end=False), seq=0, cut=2)

    recording = dumped(live, tmp_path)

    assert steps_of(recording) == [[1, 1, 1, (1, b"\2")]]
    assert recording.chunks[0].n_insns == 3 + 3 + 2


def test_blocks_that_no_record_holds_are_added(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    more = [live.entries[1]] * 4
    live.publish_blocks([*live.entries, *more])
    live.put_buffer(0, *encode([7, 4], end=False), seq=0)

    recording = dumped(live, tmp_path)

    assert recording.blocks.entries(1, 8) == b"".join([*live.entries, *more])
    assert steps_of(recording) == [[7, 4]]


def test_file_is_copied_whole(tmp_path: Path) -> None:
    source = tmp_path / "a.rec"
    source.write_bytes(file_bytes([some_steps(1), some_steps(2)], n_vcpus=2))

    with Recording.open(source) as recording:
        write_recording(recording, tmp_path / "b.rec")

    assert (tmp_path / "b.rec").read_bytes() == source.read_bytes()


def test_copy_of_a_cut_recording_is_cut_too(tmp_path: Path) -> None:
    source = tmp_path / "a.rec"
    source.write_bytes(file_bytes([some_steps(1), some_steps(2)])[:-60])

    with Recording.open(source) as recording:
        assert recording.cut is not None
        write_recording(recording, tmp_path / "b.rec")

    with Recording.open(tmp_path / "b.rec") as copy:
        assert steps_of(copy) == [some_steps(1)]
        assert copy.cut is not None


def test_damaged_buffer_leaves_no_file(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    live.put_buffer(0, b"\1\x77", 0, seq=0)

    with pytest.raises(TraceFormatError, match="vCPU 0 chunk 0: offset 0x0 of the tokens"):
        dumped(live, tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["live"]


class FullDisk(io.RawIOBase):
    """A file that takes some bytes and then has no space left."""

    def __init__(self, path: Path, space: int) -> None:
        self._file = path.open("wb", buffering=0)
        self._space = space

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self._space < len(data):
            raise OSError(errno.ENOSPC, "No space left on device")
        self._space -= len(data)
        return self._file.write(data)

    def close(self) -> None:
        self._file.close()
        super().close()


@pytest.mark.parametrize("space", [0, 40, 250])
@pytest.mark.parametrize("buffer_size", [1, 1 << 16])
def test_full_disk_is_one_line_and_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, space: int, buffer_size: int
) -> None:
    source = small(tmp_path)
    target = tmp_path / "old.rec"
    target.write_bytes(b"old")
    real_open = Path.open

    def open_on_full_disk(self: Path, *args: Any, **keys: Any) -> IO[Any]:
        if not self.name.endswith(".part"):
            opened: IO[Any] = real_open(self, *args, **keys)
            return opened
        with monkeypatch.context() as inner:
            inner.setattr(Path, "open", real_open)
            return io.BufferedWriter(FullDisk(self, space), buffer_size)

    monkeypatch.setattr(Path, "open", open_on_full_disk)

    with Recording.open(source) as recording, pytest.raises(GdbextError) as error:
        write_recording(recording, target)

    assert str(error.value) == f"{target}: cannot be written: No space left on device"
    assert target.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.rec", "small.rec"]


def test_folder_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    message = r"none/x.rec: cannot be written: No such file"
    with Recording.open(small(tmp_path)) as recording, pytest.raises(GdbextError, match=message):
        write_recording(recording, tmp_path / "none" / "x.rec")


def test_two_writers_and_files_named_alike_do_not_meet(tmp_path: Path) -> None:
    (tmp_path / "x.rec.part").write_bytes(b"mine")
    with Recording.open(small(tmp_path)) as recording:
        write_recording(recording, tmp_path / "x.rec")

    assert (tmp_path / "x.rec.part").read_bytes() == b"mine"


def test_where_a_link_leads_is_replaced(tmp_path: Path) -> None:
    link = tmp_path / "link.rec"
    link.symlink_to("real.rec")
    with Recording.open(small(tmp_path)) as recording:
        write_recording(recording, link)

    assert link.is_symlink()
    assert (tmp_path / "real.rec").stat().st_size > 0


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (
        Recording.open(small(tmp_path)) as recording,
        pytest.raises(GdbextError, match="pipe: is no regular file"),
    ):
        write_recording(recording, tmp_path / "pipe")

    assert (tmp_path / "pipe").is_fifo()


def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.rec"
    path.write_bytes(file_bytes([some_steps(1)]))
    return path
