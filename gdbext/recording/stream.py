# SPDX-License-Identifier: GPL-2.0-or-later
"""The records of a recording file or of a growing `stream`, checked and indexed.

Layout: docs/trace-format.md, "File header" to "END".
"""

from __future__ import annotations

import json
import os
import time
import weakref
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gdbext.errors import TraceFormatError
from gdbext.nativelib import decompress
from gdbext.recording.format import (
    BLOCKS_HEADER,
    BLOCKS_RAW_LENGTH_MAX,
    CHUNK_HEADER,
    CHUNK_RAW_LENGTH_MAX,
    END_ENTRY,
    FILE_HEADER,
    FILE_HEADER_SIZE,
    FILE_MAGIC,
    FORMAT_VERSION,
    RECORD_FLAG_OPTIONAL,
    RECORD_HEADER,
    RECORD_HEADER_SIZE,
    RECORD_LENGTH_MAX,
    RECORD_MAGIC,
    RecordType,
    crc32,
)

if TYPE_CHECKING:
    from pathlib import Path

    from gdbext.recording.blocks import BlockTable

READ_SIZE = 1 << 22
HEADER_WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class Record:
    """Place of one record; its payload covers [offset + 24, offset + 24 + length) of the file."""

    offset: int
    type: int
    flags: int
    length: int
    payload_crc: int

    @property
    def end(self) -> int:
        """Offset of the record after this one."""
        return self.offset + RECORD_HEADER_SIZE + self.length


@dataclass(frozen=True, slots=True)
class ChunkInfo:
    """A chunk's header; its tokens stay on disk until they are asked for."""

    vcpu: int
    seq: int
    first_insn: int
    n_insns: int
    n_blocks: int
    time_ns: int
    raw_length: int
    record: Record


@dataclass(frozen=True, slots=True)
class VcpuTotals:
    """What one vCPU executed in the whole recording."""

    instructions: int
    blocks: int


class Stream:
    """A recording file, or the `stream` of a live directory, read record by record.

    Attributes:
        generation: of the file header.
        meta: keys of all META records so far.
        records, chunks: what was found so far, in file order.
        block_count: blocks in the BLOCKS records so far.
        end: totals of the END record by vCPU, None without one.
        cut: one line that says why reading ended early, None if it did not.
        dropped: what a ring has dropped of each vCPU, before the first chunks.
        offset: where the next record begins.
    """

    def __init__(self, path: Path, blocks: BlockTable | None, *, growing: bool) -> None:
        """Open the file and check its header; `scan` reads the records.

        Args:
            blocks: filled from BLOCKS records; None leaves these compressed.
            growing: a recorder may still append, so an incomplete last record is no cut.

        Raises:
            TraceFormatError: not a recording, or of another version.
        """
        self.path = path
        self.growing = growing
        self._blocks = blocks
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise TraceFormatError(f"{path}: cannot be read: {error.strerror}") from error
        # Also when nobody calls close().
        self._closing = weakref.finalize(self, os.close, self._fd)
        self.generation = self._wait_for_generation()
        self.meta: dict[str, Any] = {}
        self.records: list[Record] = []
        self.chunks: list[ChunkInfo] = []
        self.block_count = 0
        self.end: tuple[VcpuTotals, ...] | None = None
        self.cut: str | None = None
        self.offset = FILE_HEADER_SIZE
        self.dropped: dict[int, VcpuTotals] = {}
        self._totals: dict[int, VcpuTotals] = {}
        self._next_seq: dict[int, int] = {}

    def close(self) -> None:
        """Close the file; what was read stays."""
        self._closing()

    @property
    def totals(self) -> dict[int, VcpuTotals]:
        """Instructions and blocks in the chunks so far, by vCPU."""
        return dict(self._totals)

    def next_seq(self, vcpu: int) -> int:
        """Sequence number of the vCPU's first chunk that is not in the stream."""
        return self._next_seq.get(vcpu, 0)

    def current_generation(self) -> int | None:
        """Generation in the file now; None while the recorder writes the header."""
        header = os.pread(self._fd, FILE_HEADER_SIZE, 0)
        if len(header) < FILE_HEADER_SIZE:
            return None
        if crc32(header[:28]) != int.from_bytes(header[28:32], "little"):
            return None
        return int(FILE_HEADER.unpack(header)[4])

    def was_replaced(self) -> bool:
        """A ring has turned: another file has the name now."""
        try:
            return self.path.stat().st_ino != os.fstat(self._fd).st_ino
        except FileNotFoundError:
            return False

    def scan(self) -> None:
        """Read all records that are complete by now.

        Damage and a cut end reading with `cut` set; what was read before stays good.

        Raises:
            TraceFormatError: a record is whole, but says what format 1 does not allow.
        """
        if self.cut is not None:
            return
        size = os.fstat(self._fd).st_size
        while self.offset < size:
            if self.end is not None:
                raise TraceFormatError(
                    f"{self.where()}: {size - self.offset} bytes after the END record"
                )
            record = self._next_record(size)
            if record is None:
                return
            self._take(record)
            self.records.append(record)
            self.offset = record.end
        if self.end is None and not self.growing:
            self.cut = f"{self.where()}: END record needs {RECORD_HEADER_SIZE} bytes, 0 left"

    def payload(self, record: Record) -> bytes:
        """A record's payload, checked again.

        Raises:
            TraceFormatError: the file was changed since it was indexed.
        """
        data = os.pread(self._fd, record.length, record.offset + RECORD_HEADER_SIZE)
        if len(data) != record.length or crc32(data) != record.payload_crc:
            raise TraceFormatError(
                f"{self.where(record.offset)}: record was changed while it was read"
            )
        return data

    def raw_chunk(self, chunk: ChunkInfo) -> bytes:
        """A chunk's tokens, decompressed.

        Raises:
            TraceFormatError: the frame is damaged, or the file was changed.
        """
        frame = self.payload(chunk.record)[CHUNK_HEADER.size :]
        raw = decompress(frame, chunk.raw_length)
        if raw is None:
            raise TraceFormatError(
                f"{self.where(chunk.record.offset)}: chunk does not hold "
                f"{chunk.raw_length} bytes of zstd data"
            )
        return raw

    def copy(self, record: Record) -> bytes:
        """Header and payload of a record, as they stand in the file."""
        payload = self.payload(record)
        return os.pread(self._fd, RECORD_HEADER_SIZE, record.offset) + payload

    def where(self, offset: int | None = None) -> str:
        """File and place for a message."""
        return f"{self.path.name}: offset {self.offset if offset is None else offset:#x}"

    def _wait_for_generation(self) -> int:
        """Check the file header; a live one may be just being written."""
        deadline = time.monotonic() + HEADER_WAIT_S
        while True:
            try:
                return self._read_header()
            except TraceFormatError:
                if not self.growing or time.monotonic() > deadline:
                    raise
            time.sleep(0.005)

    def _read_header(self) -> int:
        header = os.pread(self._fd, FILE_HEADER_SIZE, 0)
        name = self.path.name
        if header[:8] != FILE_MAGIC[: len(header)]:
            raise TraceFormatError(f"{name}: not a recording of gdbext")
        if len(header) < FILE_HEADER_SIZE:
            raise TraceFormatError(
                f"{name}: offset 0x0: file header needs {FILE_HEADER_SIZE} bytes, "
                f"{len(header)} left"
            )
        _, version, header_size, flags, generation, reserved, crc = FILE_HEADER.unpack(header)
        if version != FORMAT_VERSION:
            raise TraceFormatError(
                f"{name}: format version {version}; this gdbext reads {FORMAT_VERSION}"
            )
        if crc != crc32(header[:28]):
            raise TraceFormatError(f"{name}: offset 0x0: file header has a wrong checksum")
        if flags or reserved or header_size != FILE_HEADER_SIZE:
            raise TraceFormatError(
                f"{name}: offset 0x0: file header has flags {flags:#x}, reserved {reserved:#x}, "
                f"size {header_size}; this gdbext knows 0x0, 0x0, {FILE_HEADER_SIZE}"
            )
        return int(generation)

    def _next_record(self, size: int) -> Record | None:
        """The record at `offset`, checked; None at a cut or, when growing, if not complete yet."""
        left = size - self.offset
        if left < RECORD_HEADER_SIZE:
            return self._too_short("record header", RECORD_HEADER_SIZE, left)
        header = os.pread(self._fd, RECORD_HEADER_SIZE, self.offset)
        if len(header) < RECORD_HEADER_SIZE:
            return self._too_short("record header", RECORD_HEADER_SIZE, len(header))
        magic, type_, flags, length, payload_crc, header_crc = RECORD_HEADER.unpack(header)
        if magic != RECORD_MAGIC or crc32(header[:20]) != header_crc:
            return self._is_damaged("record header is damaged")
        if length > RECORD_LENGTH_MAX:
            raise TraceFormatError(
                f"{self.where()}: record of {length} bytes; at most {RECORD_LENGTH_MAX} allowed"
            )
        left -= RECORD_HEADER_SIZE
        if left < length:
            return self._too_short(f"{_type_name(type_)} record", length, left)
        record = Record(self.offset, type_, flags, length, payload_crc)
        if self._payload_crc(record) != payload_crc:
            return self._is_damaged(f"{_type_name(type_)} record has a wrong checksum")
        return record

    def _too_short(self, what: str, needed: int, left: int) -> Record | None:
        """End reading, or leave it to the next scan while the recorder may still append."""
        if not self.growing:
            self.cut = f"{self.where()}: {what} needs {needed} bytes, {left} left"
        return None

    def _is_damaged(self, what: str) -> Record | None:
        """End reading for good."""
        self.cut = f"{self.where()}: {what}; what follows is not read"
        return None

    def _payload_crc(self, record: Record) -> int:
        crc = 0
        place, left = record.offset + RECORD_HEADER_SIZE, record.length
        while left:
            data = os.pread(self._fd, min(left, READ_SIZE), place)
            if not data:
                return -1
            crc = zlib.crc32(data, crc)
            place += len(data)
            left -= len(data)
        return crc

    def _take(self, record: Record) -> None:
        """Index one whole record."""
        if record.flags & ~RECORD_FLAG_OPTIONAL:
            raise TraceFormatError(
                f"{self.where()}: record has flags {record.flags:#x}; "
                f"this gdbext knows {RECORD_FLAG_OPTIONAL:#x}"
            )
        if record.type == RecordType.META:
            self._take_meta(record)
        elif record.type == RecordType.BLOCKS:
            self._take_blocks(record)
        elif record.type == RecordType.CHUNK:
            self._take_chunk(record)
        elif record.type == RecordType.END:
            self._take_end(record)
        elif not record.flags & RECORD_FLAG_OPTIONAL:
            raise TraceFormatError(
                f"{self.where()}: record of unknown type {record.type}; "
                "a newer gdbext wrote this recording"
            )

    def _take_meta(self, record: Record) -> None:
        try:
            meta = json.loads(self.payload(record).decode())
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
            raise TraceFormatError(f"{self.where()}: META is no JSON: {error}") from error
        if not isinstance(meta, dict):
            raise TraceFormatError(f"{self.where()}: META is no JSON object")
        self.meta.update(meta)
        if "ring" in meta:
            self._take_ring(meta["ring"])

    def _take_ring(self, ring: Any) -> None:
        """What a ring has dropped comes before the first chunks (docs/trace-format.md, "Ring")."""
        try:
            self.dropped = {
                vcpu: VcpuTotals(int(lost["instructions"]), int(lost["blocks"]))
                for vcpu, lost in enumerate(ring["dropped"])
            }
            chunks = {vcpu: int(lost["chunks"]) for vcpu, lost in enumerate(ring["dropped"])}
        except (TypeError, KeyError, ValueError) as error:
            raise TraceFormatError(f"{self.where()}: META's ring is not as it should be") from error
        if self.chunks:
            raise TraceFormatError(f"{self.where()}: META tells a ring after the first chunk")
        self._totals = dict(self.dropped)
        self._next_seq = chunks

    def _take_blocks(self, record: Record) -> None:
        self._need(record, BLOCKS_HEADER.size, "BLOCKS")
        head = os.pread(self._fd, BLOCKS_HEADER.size, record.offset + RECORD_HEADER_SIZE)
        first_id, count, raw_length = BLOCKS_HEADER.unpack(head)
        if first_id != self.block_count + 1:
            raise TraceFormatError(
                f"{self.where()}: BLOCKS begins with id {first_id}; "
                f"{self.block_count + 1} must come next"
            )
        if raw_length > BLOCKS_RAW_LENGTH_MAX:
            raise TraceFormatError(
                f"{self.where()}: BLOCKS of {raw_length} bytes; "
                f"at most {BLOCKS_RAW_LENGTH_MAX} allowed"
            )
        if self._blocks is not None:
            raw = decompress(self.payload(record)[BLOCKS_HEADER.size :], raw_length)
            if raw is None:
                raise TraceFormatError(
                    f"{self.where()}: BLOCKS does not hold {raw_length} bytes of zstd data"
                )
            self._blocks.append(raw, self.where(), count)
        self.block_count += count

    def _take_chunk(self, record: Record) -> None:
        self._need(record, CHUNK_HEADER.size, "CHUNK")
        head = os.pread(self._fd, CHUNK_HEADER.size, record.offset + RECORD_HEADER_SIZE)
        vcpu, flags, seq, first_insn, n_insns, n_blocks, time_ns, raw_length, reserved = (
            CHUNK_HEADER.unpack(head)
        )
        if flags or reserved:
            raise TraceFormatError(f"{self.where()}: CHUNK has unknown flags {flags:#x}")
        if raw_length > CHUNK_RAW_LENGTH_MAX:
            raise TraceFormatError(
                f"{self.where()}: CHUNK of {raw_length} bytes; "
                f"at most {CHUNK_RAW_LENGTH_MAX} allowed"
            )
        before = self._totals.get(vcpu, VcpuTotals(0, 0))
        if seq != self.next_seq(vcpu) or first_insn != before.instructions:
            raise TraceFormatError(
                f"{self.where()}: vCPU {vcpu} chunk {seq} begins at instruction {first_insn}; "
                f"chunk {self.next_seq(vcpu)} at instruction {before.instructions} must come next"
            )
        self._next_seq[vcpu] = seq + 1
        self._totals[vcpu] = VcpuTotals(first_insn + n_insns, before.blocks + n_blocks)
        self.chunks.append(
            ChunkInfo(vcpu, seq, first_insn, n_insns, n_blocks, time_ns, raw_length, record)
        )

    def _take_end(self, record: Record) -> None:
        payload = self.payload(record)
        if len(payload) % END_ENTRY.size:
            raise TraceFormatError(f"{self.where()}: END of {len(payload)} bytes")
        end = tuple(VcpuTotals(*entry) for entry in END_ENTRY.iter_unpack(payload))
        for vcpu, totals in self._totals.items():
            said = end[vcpu] if vcpu < len(end) else None
            if said != totals:
                raise TraceFormatError(
                    f"{self.where()}: END says {said} for vCPU {vcpu}, its chunks {totals}"
                )
        self.end = end

    def _need(self, record: Record, size: int, name: str) -> None:
        if record.length < size:
            raise TraceFormatError(
                f"{self.where()}: {name} needs {size} bytes, {record.length} left"
            )


def _type_name(type_: int) -> str:
    known = {int(member) for member in RecordType}
    return RecordType(type_).name if type_ in known else f"type {type_}"
