# SPDX-License-Identifier: GPL-2.0-or-later
"""The shared mappings of a live directory: `live` (raw chunks) and `blocks` (block table).

The recorder writes while this reads. Each vCPU's thread fills buffers and publishes with one 64-bit
store; a worker thread moves full buffers into `stream` and frees them. A snapshot copies the
buffers first and leaves it to the caller to read `stream` afterwards, so that a chunk that moves
meanwhile is in both, never in neither (docs/trace-format.md, "live").
"""

from __future__ import annotations

import mmap
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gdbext.errors import TraceFormatError
from gdbext.recording.format import (
    BLOCKS_FILE_HEADER,
    BLOCKS_FILE_HEADER_SIZE,
    BLOCKS_FILE_MAGIC,
    LIVE_BUFFER,
    LIVE_BUFFER_HEADER_SIZE,
    LIVE_BUFFERS_OFFSET,
    LIVE_HEADER,
    LIVE_MAGIC,
    LIVE_RUN_BITS,
    BufferState,
)

if TYPE_CHECKING:
    from pathlib import Path

GENERATION_OFFSET = 24
USED_OFFSET = 8
COPY_TRIES = 50
RETRY_S = 0.001


@dataclass(frozen=True, slots=True)
class RawBuffer:
    """A copy of one buffer of `live`, taken at one moment.

    Attributes:
        tokens: the published bytes.
        run: blocks executed as predicted after the tokens.
        cut: how many instructions of the very last block were begun; 0 all, as far as known.
        full: nothing more came into it after this copy.
    """

    vcpu: int
    seq: int
    time_ns: int
    tokens: bytes
    run: int
    cut: int
    full: bool


class _Mapping:
    """A file that another process writes, mapped; words of 8 bytes are read in one access."""

    def __init__(self, path: Path, header_size: int) -> None:
        self.path = path
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise TraceFormatError(f"{path}: cannot be read: {error.strerror}") from error
        try:
            self.size = os.fstat(fd).st_size
            if self.size < header_size:
                raise TraceFormatError(
                    f"{path.name}: offset 0x0: header needs {header_size} bytes, {self.size} left"
                )
            self._map = mmap.mmap(fd, self.size, prot=mmap.PROT_READ)
        finally:
            os.close(fd)
        self._bytes = memoryview(self._map)
        self._words = self._bytes[: self.size // 8 * 8].cast("Q")

    def word(self, offset: int) -> int:
        """The u64 at `offset`, a multiple of 8, read in one access."""
        return self._words[offset // 8]

    def copy(self, start: int, end: int) -> bytes:
        """The bytes [start, end)."""
        return bytes(self._bytes[start:end])

    def close(self) -> None:
        """Unmap."""
        self._words.release()
        self._bytes.release()
        self._map.close()


class LiveBuffers:
    """The `live` file: the chunks that are not in `stream` yet."""

    def __init__(self, path: Path) -> None:
        """Map the file.

        Raises:
            TraceFormatError: it is no `live` file, or too short for the buffers it announces.
        """
        self._mapping = _Mapping(path, LIVE_BUFFERS_OFFSET)
        header = self._mapping.copy(0, LIVE_HEADER.size)
        magic, n_vcpus, n_buffers, buffer_size, _, self.pid = LIVE_HEADER.unpack(header)
        self.n_vcpus: int = n_vcpus
        self.n_buffers: int = n_buffers
        self.buffer_size: int = buffer_size
        needed = LIVE_BUFFERS_OFFSET + n_vcpus * n_buffers * buffer_size
        problem = None
        if magic != LIVE_MAGIC:
            problem = "not the live buffers of gdbext"
        elif buffer_size <= LIVE_BUFFER_HEADER_SIZE or buffer_size % 8:
            problem = f"offset 0x10: buffers of {buffer_size} bytes"
        elif needed > self._mapping.size:
            problem = f"buffers need {needed} bytes, {self._mapping.size} left"
        if problem is not None:
            self._mapping.close()
            raise TraceFormatError(f"{path.name}: {problem}")

    def close(self) -> None:
        """Unmap."""
        self._mapping.close()

    @property
    def generation(self) -> int:
        """As in the header of `stream`; they differ while the recorder clears."""
        return self._mapping.word(GENERATION_OFFSET)

    def snapshot(self) -> list[RawBuffer]:
        """Copies of all buffers in use, by vCPU and sequence number.

        Each copy is of one moment; the moments differ, so read `stream` afterwards and drop what
        it holds already.

        Raises:
            TraceFormatError: a buffer says what cannot be.
        """
        found = []
        for index in range(self.n_vcpus * self.n_buffers):
            buffer = self._copy_buffer(index)
            if buffer is not None:
                found.append(buffer)
        return sorted(found, key=lambda buffer: (buffer.vcpu, buffer.seq))

    def _copy_buffer(self, index: int) -> RawBuffer | None:
        """One buffer, or None if it is free (its chunk is in `stream` then)."""
        start = LIVE_BUFFERS_OFFSET + index * self.buffer_size
        for _ in range(COPY_TRIES):
            # The recorder sets `state` last when it takes a buffer, and `seq` never comes twice:
            # the same seq before and after means that all in between is of one chunk.
            before = self._header(start)
            state, vcpu, seq, time_ns = before[2], before[3], before[5], before[6]
            if state == BufferState.FREE:
                return None
            word = self._mapping.word(start)
            published, run = word >> LIVE_RUN_BITS, word & ((1 << LIVE_RUN_BITS) - 1)
            if published > self.buffer_size - LIVE_BUFFER_HEADER_SIZE:
                raise TraceFormatError(
                    f"{self._mapping.path.name}: offset {start:#x}: {published} bytes published "
                    f"in a buffer of {self.buffer_size - LIVE_BUFFER_HEADER_SIZE}"
                )
            tokens = self._mapping.copy(
                start + LIVE_BUFFER_HEADER_SIZE, start + LIVE_BUFFER_HEADER_SIZE + published
            )
            after = self._header(start)
            cut_word, cut = after[7], after[8]
            same = self._mapping.word(start) >> LIVE_RUN_BITS >= published
            if same and after[2] != BufferState.FREE and (after[3], after[5]) == (vcpu, seq):
                known = (BufferState.FILLING, BufferState.FULL)
                if state not in known or vcpu >= self.n_vcpus:
                    raise TraceFormatError(
                        f"{self._mapping.path.name}: offset {start:#x}: buffer of vCPU {vcpu} "
                        f"in state {state}"
                    )
                return RawBuffer(
                    vcpu,
                    seq,
                    time_ns,
                    tokens,
                    run,
                    cut if cut_word == word else 0,
                    full=state == BufferState.FULL,
                )
            time.sleep(RETRY_S)
        return None

    def _header(self, start: int) -> tuple[int, ...]:
        return LIVE_BUFFER.unpack(self._mapping.copy(start, start + LIVE_BUFFER.size))


class LiveBlocks:
    """The `blocks` file: block entries, appended at translation."""

    def __init__(self, path: Path) -> None:
        """Map the file.

        Raises:
            TraceFormatError: it is no `blocks` file.
        """
        self._path = path
        self._mapping = _Mapping(path, BLOCKS_FILE_HEADER_SIZE)
        self._read = 0
        magic = BLOCKS_FILE_HEADER.unpack(self._mapping.copy(0, BLOCKS_FILE_HEADER.size))[0]
        if magic != BLOCKS_FILE_MAGIC:
            self._mapping.close()
            raise TraceFormatError(f"{path.name}: not a block table of gdbext")

    def close(self) -> None:
        """Unmap."""
        self._mapping.close()

    def new_entries(self) -> bytes:
        """The entries published since the last call.

        Raises:
            TraceFormatError: more is published than the file holds.
        """
        end = BLOCKS_FILE_HEADER_SIZE + self._mapping.word(USED_OFFSET)
        if end > self._mapping.size and self._path.stat().st_size > self._mapping.size:
            self._mapping.close()
            self._mapping = _Mapping(self._path, BLOCKS_FILE_HEADER_SIZE)
        start = BLOCKS_FILE_HEADER_SIZE + self._read
        if not start <= end <= self._mapping.size:
            raise TraceFormatError(
                f"{self._path.name}: {end} bytes published after {start}, "
                f"{self._mapping.size} in the file"
            )
        self._read = end - BLOCKS_FILE_HEADER_SIZE
        return self._mapping.copy(start, end)
