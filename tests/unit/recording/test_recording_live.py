# SPDX-License-Identifier: GPL-2.0-or-later
"""Live directories read while the recorder works, after it was cleared, and after a kill."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from gdbext.errors import TraceFormatError
from gdbext.recording import Recording
from gdbext.recording.blocks import pack_block
from tests.support.recordings import LiveDirectory, file_bytes, some_steps
from tests.support.tokens import Step, decode, encode


def steps_of(recording: Recording) -> list[Step]:
    """All steps of vCPU 0, the open run included."""
    steps: list[Step] = []
    for chunk in recording.data():
        steps += decode(chunk.raw, recording.blocks.count, chunk.run)
    return steps


def test_buffers_continue_the_stream(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    live.write_stream(file_bytes([some_steps(1)], end=False))
    live.put_buffer(1, encode(some_steps(2))[0], 0, seq=1, state=2)
    open_steps: list[Step] = [1] * 50
    live.put_buffer(0, *encode(open_steps, end=False), seq=2)

    with Recording.open(live.path) as recording:
        assert steps_of(recording) == some_steps(1) + some_steps(2) + open_steps
        assert [(c.seq, c.complete) for c in recording.data()] == [
            (0, True),
            (1, False),
            (2, False),
        ]
        assert recording.cut is None
        assert recording.end is None
        assert recording.pid == 4242


def test_chunk_in_stream_and_buffer_counts_once(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    live.write_stream(file_bytes([some_steps(1)], end=False))
    live.put_buffer(0, encode(some_steps(1))[0], 0, seq=0, state=2)

    with Recording.open(live.path) as recording:
        assert steps_of(recording) == some_steps(1)


def test_half_written_record_at_the_end_is_not_a_cut(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    whole = file_bytes([some_steps(1)], end=False)
    live.put_buffer(0, encode(some_steps(1))[0], 0, seq=0, state=2)
    for length in range(len(file_bytes([], end=False)), len(whole)):
        live.write_stream(whole[:length])

        with Recording.open(live.path) as recording:
            assert steps_of(recording) == some_steps(1)
            assert recording.cut is None
            live.write_stream(whole)
            assert recording.refresh() is False
            assert steps_of(recording) == some_steps(1)
            assert len(recording.chunks) == 1


def test_refresh_picks_up_what_is_new(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    with Recording.open(live.path) as recording:
        assert steps_of(recording) == []

        live.publish_blocks([*live.entries, pack_block(0x3000, b"\2", b"\x70\x47")])
        live.put_buffer(0, *encode([1, 4], end=False), seq=0)
        assert recording.refresh() is False
        assert steps_of(recording) == [1, 4]
        assert recording.blocks.address[4] == 0x3000

        live.put_buffer(0, *encode([1, 4, 1, 1, 1], end=False), seq=0)
        recording.refresh()
        assert steps_of(recording) == [1, 4, 1, 1, 1]


def test_block_table_grows_with_its_file(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    entry = pack_block(0x4000, b"\4" * 1000, bytes(4000))
    with Recording.open(live.path) as recording:
        live.publish_blocks([*live.entries, *[entry] * 100])
        recording.refresh()

        assert recording.blocks.count == 103
        assert recording.blocks.code(103) == bytes(4000)


def test_each_vcpu_has_its_own_sequence(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live", n_vcpus=2)
    live.put_buffer(0, *encode([1], end=False), seq=0)
    live.put_buffer(2, *encode([2], end=False), seq=0, vcpu=1)

    with Recording.open(live.path) as recording:
        found = [(c.vcpu, decode(c.raw, 3, c.run)) for c in recording.data()]
        assert found == [(0, [1]), (1, [2])]
        assert recording.n_vcpus == 2


def test_clear_begins_again(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    live.write_stream(file_bytes([some_steps(9)], end=False))
    with Recording.open(live.path) as recording:
        live.set_generation(1)
        live.write_stream(file_bytes([[2]], end=False, generation=1))

        assert recording.refresh() is True
        assert steps_of(recording) == [2]
        assert recording.generation == 1
        assert recording.blocks.count == 3
        assert recording.refresh() is False


def test_clear_that_never_ends_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gdbext.recording.reader.REFRESH_TRIES", 3)
    live = LiveDirectory(tmp_path / "live")
    live.set_generation(1)

    with pytest.raises(TraceFormatError, match="changing it all the time"):
        Recording.open(live.path)


def test_missing_chunk_ends_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gdbext.recording.reader.REFRESH_TRIES", 3)
    live = LiveDirectory(tmp_path / "live")
    live.put_buffer(0, encode([1])[0], 0, seq=1)

    with Recording.open(live.path) as recording:
        assert steps_of(recording) == []
        assert recording.cut == "live: vCPU 0 chunk 0 is missing; what follows is not read"


def test_damage_in_the_stream_is_a_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gdbext.recording.reader.REFRESH_TRIES", 3)
    live = LiveDirectory(tmp_path / "live")
    data = bytearray(file_bytes([some_steps(1), some_steps(2)], end=False))
    data[-1] ^= 1
    live.write_stream(bytes(data))

    with Recording.open(live.path) as recording:
        assert steps_of(recording) == some_steps(1)
        assert "CHUNK record has a wrong checksum" in (recording.cut or "")


@pytest.mark.parametrize(
    ("offset", "data", "message"),
    [
        (0, b"X", "not the live buffers"),
        (8, b"\xff\xff", "buffers need"),
        (16, b"\x03", "buffers of"),
        (4096 + 5, b"\xff\xff\xff", "bytes published"),
        (4096 + 12, b"\x07", "in state 7"),
        (4096 + 16, b"\x07", "buffer of vCPU 7"),
    ],
)
def test_impossible_live_file_is_refused(
    tmp_path: Path, offset: int, data: bytes, message: str
) -> None:
    live = LiveDirectory(tmp_path / "live")
    live.put_buffer(0, *encode([1], end=False), seq=0)
    with (live.path / "live").open("r+b") as out:
        out.seek(offset)
        out.write(data)

    with pytest.raises(TraceFormatError, match=message):
        Recording.open(live.path)


def test_more_blocks_published_than_there_are_is_refused(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    with (live.path / "blocks").open("r+b") as out:
        out.seek(8)
        out.write(b"\xff" * 7)

    with pytest.raises(TraceFormatError, match=r"blocks: .* published"):
        Recording.open(live.path)


# A recorder at work in another process: fills buffers, moves full ones into the stream, frees them,
# in the plugin's order. Block ids count 1, 2, 3, 1, 2, 3 without end, so any prefix is known.
RECORDER = """
import mmap, os, struct, sys, threading, time
from pathlib import Path
from tests.support.recordings import LIVE_BUFFER_SIZE
from tests.support.tokens import Predictor, leb
from gdbext.recording.format import CHUNK_HEADER, pack_record_header
from gdbext.nativelib import compress
path = Path(sys.argv[1])
with open(path / "live", "r+b") as f:
    live = mmap.mmap(f.fileno(), 0)
words = memoryview(live).cast("Q")
stream = open(path / "stream", "ab", buffering=0)
condition = threading.Condition()

def start_of(index):
    return 4096 + index * LIVE_BUFFER_SIZE

def state(index, value=None):
    place = start_of(index) + 12
    if value is not None:
        live[place:place + 4] = struct.pack("<I", value)
    return struct.unpack_from("<I", live, place)[0]

def worker():
    seq = insns = 0
    while True:
        for index in range(2):
            start = start_of(index)
            if state(index) == 2 and struct.unpack_from("<Q", live, start + 24)[0] == seq:
                length = words[start // 8] >> 40
                raw = bytes(live[start + 64:start + 64 + length])
                n = counts.pop(seq)
                payload = CHUNK_HEADER.pack(0, 0, seq, insns, n, n, 0, length, 0) + compress(raw)
                data = pack_record_header(3, payload) + payload
                half = len(data) // 2
                stream.write(data[:half])
                stream.write(data[half:])
                insns += n
                seq += 1
                state(index, 0)
        time.sleep(0)

counts = {}
threading.Thread(target=worker, daemon=True).start()
block = seq = 0
while True:
    index = next((i for i in range(2) if state(i) == 0), None)
    if index is None:
        time.sleep(0)
        continue
    start = start_of(index)
    words[start // 8] = 0
    live[start + 16:start + 40] = struct.pack("<IIQQ", 0, 0, seq, 0)
    state(index, 1)
    length = run = n = 0
    predictor = Predictor()
    while length < 300:
        block = block % 3 + 1
        n += 1
        if predictor.first[predictor.slot] == block and run < 50:
            run += 1
        else:
            kind = 1
            token = bytes([run * 4 + 1]) + leb(block)
            live[start + 64 + length:start + 64 + length + len(token)] = token
            length += len(token)
            run = 0
            slot = predictor.slot
            predictor.second[slot], predictor.first[slot] = predictor.first[slot], block
        predictor.step(block)
        words[start // 8] = length << 40 | run
    live[start + 64 + length:start + 65 + length] = bytes([run * 4 + 3])
    words[start // 8] = (length + 1) << 40
    counts[seq] = n
    seq += 1
    state(index, 2)
"""


def test_reading_races_with_the_recorder_and_gives_exact_prefixes(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    recorder = subprocess.Popen([sys.executable, "-c", RECORDER, str(live.path)])
    try:
        longest = 0
        with Recording.open(live.path) as recording:
            deadline = time.monotonic() + 60
            while len(recording.chunks) < 25 and time.monotonic() < deadline:
                assert recorder.poll() is None
                recording.refresh()
                steps = steps_of(recording)
                assert steps == [number % 3 + 1 for number in range(len(steps))]
                assert len(steps) >= longest
                assert recording.cut is None
                longest = len(steps)
        assert longest > 100
    finally:
        recorder.kill()
        recorder.wait()

    with Recording.open(live.path) as recording:
        steps = steps_of(recording)
        assert steps == [number % 3 + 1 for number in range(len(steps))]
        assert len(steps) >= longest
        assert recording.cut is None
