# SPDX-License-Identifier: GPL-2.0-or-later
"""Recording files read: content, cuts, damage, versions."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pytest
import zstandard

from gdbext.errors import TraceFormatError
from gdbext.recording import Recording, RecordingWriter, VcpuTotals
from gdbext.recording.format import RecordType
from tests.support.recordings import (
    BLOCKS,
    META,
    blocks_of,
    file_bytes,
    insns_of,
    some_steps,
)
from tests.support.tokens import Step, decode, encode


def opened(tmp_path: Path, data: bytes) -> Recording:
    path = tmp_path / "run.rec"
    path.write_bytes(data)
    return Recording.open(path)


def steps_of(recording: Recording) -> list[list[Step]]:
    return [decode(chunk.raw, len(BLOCKS), chunk.run) for chunk in recording.data()]


def record(type_: int, payload: bytes, flags: int = 0) -> bytes:
    head = struct.pack("<4sHHQI", b"GXR1", type_, flags, len(payload), zlib.crc32(payload))
    return head + struct.pack("<I", zlib.crc32(head)) + payload


def header(version: int = 1, flags: int = 0, generation: int = 0) -> bytes:
    head = struct.pack("<8sHHIQI", b"\x89GDBX\r\n\x1a", version, 32, flags, generation, 0)
    return head + struct.pack("<I", zlib.crc32(head))


def blocks_record(entries: list[bytes], first: int = 1, count: int | None = None) -> bytes:
    raw = b"".join(entries)
    head = struct.pack("<IIQ", first, len(entries) if count is None else count, len(raw))
    return record(2, head + zstandard.compress(raw))


def chunk_record(raw: bytes, seq: int = 0, first_insn: int = 0, vcpu: int = 0) -> bytes:
    head = struct.pack("<IIQQQQQII", vcpu, 0, seq, first_insn, 1, 1, 9, len(raw), 0)
    return record(3, head + zstandard.compress(raw))


def test_file_built_from_the_description_is_read(tmp_path: Path) -> None:
    steps: list[Step] = [2]
    data = header(generation=3) + record(1, b'{"target": "arm", "a": 1}') + record(1, b'{"a": 2}')
    data += blocks_record(BLOCKS[:1]) + blocks_record(BLOCKS[1:], first=2)
    data += chunk_record(encode(steps)[0]) + record(4, struct.pack("<QQ", 1, 1))

    recording = opened(tmp_path, data)

    assert recording.meta == {"target": "arm", "a": 2}
    assert recording.generation == 3
    assert recording.cut is None
    assert recording.end == (VcpuTotals(1, 1),)
    assert steps_of(recording) == [steps]
    block = recording.blocks.block(3)
    assert (block.address, block.sizes, block.code.hex()) == (0x2000, b"\4\2", "dff80440a047")
    assert list(recording.blocks.address) == [0, 0x1000, 0x1008, 0x2000]
    assert recording.blocks.entries(1, 4) == b"".join(BLOCKS)


def test_chunks_are_indexed_by_vcpu_and_place(tmp_path: Path) -> None:
    chunks = [some_steps(n) for n in (1, 40, 3, 0, 2)]

    recording = opened(tmp_path, file_bytes(chunks, n_vcpus=2))

    assert [(c.vcpu, c.seq) for c in recording.chunks] == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]
    assert [c.first_insn for c in recording.chunks][4] == insns_of(chunks[0]) + insns_of(chunks[2])
    assert [c.n_blocks for c in recording.chunks] == [blocks_of(steps) for steps in chunks]
    assert steps_of(recording) == chunks
    assert recording.n_vcpus == 2


@pytest.mark.parametrize("entries", [0, 1, 1024])
def test_blocks_of_every_size(tmp_path: Path, entries: int) -> None:
    largest = struct.pack("<QHH", 2**64 - 1, 1024, 15360) + b"\x0f" * 1024 + b"\x90" * 15360
    data = header() + blocks_record([largest] * entries) + record(4, b"")

    blocks = opened(tmp_path, data).blocks

    assert blocks.count == entries
    if entries:
        assert blocks.address[entries] == 2**64 - 1
        assert blocks.code(entries) == b"\x90" * 15360


def test_other_version_names_both(tmp_path: Path) -> None:
    with pytest.raises(TraceFormatError) as error:
        opened(tmp_path, header(version=3))

    assert str(error.value) == "run.rec: format version 3; this gdbext reads 1"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "run.rec: offset 0x0: file header needs 32 bytes, 0 left"),
        (b"\x89GDBX", "run.rec: offset 0x0: file header needs 32 bytes, 5 left"),
        (b"\x7fELF" + bytes(60), "run.rec: not a recording of gdbext"),
        (header(flags=4), "file header has flags 0x4"),
        (header()[:-1] + b"\0", "file header has a wrong checksum"),
        (header() + record(9, b""), "offset 0x20: record of unknown type 9"),
        (header() + record(1, b"", flags=2), "record has flags 0x2"),
        (header() + record(1, b"[]"), "META is no JSON object"),
        (header() + record(1, b"\xff"), "META is no JSON"),
        (header() + blocks_record(BLOCKS, first=2), "BLOCKS begins with id 2; 1 must come next"),
        (header() + blocks_record(BLOCKS, count=2), "offset 0x20: 20 bytes after the last block"),
        (header() + blocks_record(BLOCKS, count=4), "4 block entries announced, 3 found"),
        (header() + blocks_record([BLOCKS[0][:-1]]), "block entry is damaged"),
        (header() + record(2, b"x" * 15), "BLOCKS needs 16 bytes, 15 left"),
        (
            header() + record(2, struct.pack("<IIQ", 1, 1, 2**28 + 1)),
            "BLOCKS of 268435457 bytes; at most 268435456",
        ),
        (header() + record(2, struct.pack("<IIQ", 1, 1, 20) + b"no zstd"), "20 bytes of zstd data"),
        (header() + record(3, b"x" * 55), "CHUNK needs 56 bytes, 55 left"),
        (header() + chunk_record(b"\3", seq=1), "vCPU 0 chunk 1 begins"),
        (header() + chunk_record(b"\3", first_insn=1), "begins at instruction 1"),
        (header() + chunk_record(b"\3" * (2**22 + 1)), "CHUNK of 4194305 bytes"),
        (header() + record(4, b"x" * 15), "END of 15 bytes"),
        (header() + chunk_record(b"\3") + record(4, bytes(16)), "END says"),
        (header() + record(4, b"") + b"x", "1 bytes after the END record"),
    ],
)
def test_what_the_format_forbids_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(TraceFormatError, match=message):
        opened(tmp_path, data)


def test_record_longer_than_allowed_is_refused(tmp_path: Path) -> None:
    head = struct.pack("<4sHHQI", b"GXR1", 3, 0, 2**30 + 1, 0)

    with pytest.raises(TraceFormatError, match="record of 1073741825 bytes; at most 1073741824"):
        opened(tmp_path, header() + head + struct.pack("<I", zlib.crc32(head)))


def test_unknown_optional_record_is_skipped(tmp_path: Path) -> None:
    data = header() + record(77, b"later", flags=1) + blocks_record(BLOCKS) + record(4, b"")

    recording = opened(tmp_path, data)

    assert recording.blocks.count == 3
    assert recording.cut is None


def test_file_without_end_says_so(tmp_path: Path) -> None:
    data = file_bytes([some_steps()], end=False)

    recording = opened(tmp_path, data)

    assert recording.cut == f"run.rec: offset {len(data):#x}: END record needs 24 bytes, 0 left"
    assert steps_of(recording) == [some_steps()]


def test_cut_record_says_what_was_expected(tmp_path: Path) -> None:
    data = header() + record(1, b'{"a": 1}')

    recording = opened(tmp_path, data[:-3])

    assert recording.cut == "run.rec: offset 0x20: META record needs 8 bytes, 5 left"
    assert recording.meta == {}


def test_damaged_frame_with_right_checksum_is_no_data(tmp_path: Path) -> None:
    head = struct.pack("<IIQQQQQII", 0, 0, 0, 0, 1, 1, 9, 3, 0)
    data = header() + record(3, head + zstandard.compress(b"\1\1\3x")) + record(4, b"\1" + bytes(7))
    recording = opened(tmp_path, data[: -24 - 8])

    with pytest.raises(TraceFormatError, match="chunk does not hold 3 bytes of zstd data"):
        list(recording.data())


def test_file_changed_after_opening_is_noticed(tmp_path: Path) -> None:
    recording = opened(tmp_path, file_bytes([some_steps()]))
    place = recording.chunks[0].record.offset + 40
    with (tmp_path / "run.rec").open("r+b") as out:
        out.seek(place)
        out.write(b"\xa5")

    with pytest.raises(TraceFormatError, match="changed while it was read"):
        list(recording.data())


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TraceFormatError, match=r"none.rec: cannot be read: No such file"):
        Recording.open(tmp_path / "none.rec")


def test_written_file_has_the_described_bytes() -> None:
    out = io.BytesIO()
    writer = RecordingWriter(out)
    writer.meta(META)
    writer.blocks(BLOCKS)
    writer.chunk(b"\1\2\3", n_insns=1, n_blocks=1, time_ns=9)
    writer.end()
    data = out.getvalue()

    assert data[:32] == header()
    place, found = 32, {}
    while place < len(data):
        length = struct.unpack_from("<Q", data, place + 8)[0]
        payload = data[place + 24 : place + 24 + length]
        type_ = struct.unpack_from("<H", data, place + 4)[0]
        assert data[place : place + 24 + length] == record(type_, payload)
        found[type_] = payload
        place += 24 + length

    assert list(found) == list(RecordType)
    assert zstandard.decompress(found[2][16:]) == b"".join(BLOCKS)
    assert struct.unpack_from("<IIQQQQQII", found[3]) == (0, 0, 0, 0, 1, 1, 9, 3, 0)
    assert zstandard.decompress(found[3][56:]) == b"\1\2\3"
    assert struct.unpack("<QQ", found[4]) == (1, 1)
