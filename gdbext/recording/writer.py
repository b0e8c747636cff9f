# SPDX-License-Identifier: GPL-2.0-or-later
"""Recording files written: what `trace dump` leaves, and recordings made up for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gdbext.errors import GdbextError, TraceFormatError
from gdbext.files import ReplacedFile
from gdbext.nativelib import compress
from gdbext.recording.format import (
    BLOCKS_HEADER,
    CHUNK_HEADER,
    CHUNK_RAW_LENGTH_MAX,
    END_ENTRY,
    Event,
    RecordType,
    pack_file_header,
    pack_leb,
    pack_record_header,
)
from gdbext.recording.stream import VcpuTotals
from gdbext.recording.tokens import pack_end, pack_event, totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdbext.recording.reader import ChunkData, Recording

BLOCKS_PER_RECORD = 1 << 16


class RecordingWriter:
    """Writes one recording file, record by record, in the order of the calls."""

    def __init__(self, out: IO[bytes], generation: int = 0) -> None:
        """Write the file header to `out`."""
        self._out = out
        self._next_id = 1
        self._next_seq: dict[int, int] = {}
        self._totals: dict[int, VcpuTotals] = {}
        out.write(pack_file_header(generation))

    def record(self, type_: int, payload: bytes, flags: int = 0) -> None:
        """Any record."""
        self._out.write(pack_record_header(type_, payload, flags))
        self._out.write(payload)

    def meta(self, keys: dict[str, Any]) -> None:
        """META record."""
        self.record(RecordType.META, json.dumps(keys, sort_keys=True).encode())

    def blocks(self, entries: Sequence[bytes]) -> None:
        """BLOCKS record with the next ids; entries come from `blocks.pack_block`."""
        raw = b"".join(entries)
        head = BLOCKS_HEADER.pack(self._next_id, len(entries), len(raw))
        self._next_id += len(entries)
        self.record(RecordType.BLOCKS, head + compress(raw))

    def chunk(
        self, raw: bytes, *, n_insns: int, n_blocks: int, vcpu: int = 0, time_ns: int = 0
    ) -> None:
        """CHUNK record: the vCPU's next; `raw` are tokens that end with END."""
        before = self._totals.get(vcpu, VcpuTotals(0, 0))
        seq = self._next_seq.get(vcpu, 0)
        self._next_seq[vcpu] = seq + 1
        self._totals[vcpu] = VcpuTotals(before.instructions + n_insns, before.blocks + n_blocks)
        head = CHUNK_HEADER.pack(
            vcpu, 0, seq, before.instructions, n_insns, n_blocks, time_ns, len(raw), 0
        )
        self.record(RecordType.CHUNK, head + compress(raw))

    def end(self, n_vcpus: int = 1) -> None:
        """END record with the totals of the chunks written."""
        zero = VcpuTotals(0, 0)
        payload = bytearray()
        for vcpu in range(max(n_vcpus, 1 + max(self._totals, default=-1))):
            of_vcpu = self._totals.get(vcpu, zero)
            payload += END_ENTRY.pack(of_vcpu.instructions, of_vcpu.blocks)
        self.record(RecordType.END, bytes(payload))

    def continue_from(self, recording: Recording) -> None:
        """Copy the records of another recording, without its END, as they are."""
        stream = recording.stream
        for record in stream.records:
            if record.type != RecordType.END:
                self._out.write(stream.copy(record))
        self._next_id = stream.block_count + 1
        self._totals = stream.totals
        self._next_seq = {vcpu: stream.next_seq(vcpu) for vcpu in self._totals}


def write_recording(
    recording: Recording, path: str | Path, extra_meta: dict[str, Any] | None = None
) -> None:
    """Write all that `recording` holds into one self-contained file.

    The records of its stream are copied as they are; then come the blocks and the chunks that are
    only in its live buffers, and END. If the recording was cut, END is left out, so that the file
    says so too.

    Args:
        path: gets its name only when the file is whole; a file there is replaced.
        extra_meta: keys that the launcher knows, see docs/trace-format.md, "META".

    Raises:
        TraceFormatError: the recording is damaged.
        GdbextError: `path` cannot be written, for example because the disk is full.
    """
    path = Path(path)
    try:
        with ReplacedFile(path) as out:
            _write(recording, out, extra_meta)
    except OSError as error:
        raise GdbextError(f"{path}: cannot be written: {error.strerror or error}") from error


def _write(recording: Recording, out: IO[bytes], extra_meta: dict[str, Any] | None) -> None:
    writer = RecordingWriter(out)
    writer.continue_from(recording)
    if extra_meta:
        writer.meta(extra_meta)
    _append_blocks(recording, writer)
    for chunk in recording.partial:
        raw, n_insns, n_blocks = finished(recording, chunk)
        writer.chunk(
            raw, n_insns=n_insns, n_blocks=n_blocks, vcpu=chunk.vcpu, time_ns=chunk.time_ns
        )
    if recording.cut is None:
        writer.end(recording.n_vcpus)


def _append_blocks(recording: Recording, writer: RecordingWriter) -> None:
    """The blocks that are in the block table, but in no BLOCKS record."""
    table = recording.blocks
    for first in range(recording.stream.block_count + 1, len(table), BLOCKS_PER_RECORD):
        end = min(first + BLOCKS_PER_RECORD, len(table))
        writer.blocks([table.entries(block, block + 1) for block in range(first, end)])


def finished(recording: Recording, chunk: ChunkData) -> tuple[bytes, int, int]:
    """A partial chunk's tokens with END, its instructions and its blocks.

    Raises:
        TraceFormatError: its tokens are damaged.
    """
    where = f"{recording.path.name}: vCPU {chunk.vcpu} chunk {chunk.seq}"
    if chunk.cut:
        tail = pack_event(Event.CUT, pack_leb(chunk.cut), run=chunk.run) + pack_end()
    else:
        tail = pack_end(chunk.run)
    try:
        raw = chunk.raw + tail
        n_insns, n_blocks = totals(raw, 0, recording.blocks, where)
    except TraceFormatError:
        # A full buffer that the worker has not moved yet ends with END already.
        raw = chunk.raw
        n_insns, n_blocks = totals(raw, chunk.run, recording.blocks, where)
    if len(raw) > CHUNK_RAW_LENGTH_MAX:
        raise TraceFormatError(
            f"{where}: {len(raw)} bytes of tokens; at most {CHUNK_RAW_LENGTH_MAX} allowed"
        )
    return raw, n_insns, n_blocks
