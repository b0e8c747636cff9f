# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording opened for reading: a file, or the live directory of a recorder that may run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gdbext.errors import TraceFormatError
from gdbext.recording.blocks import BlockTable
from gdbext.recording.live import LiveBlocks, LiveBuffers, RawBuffer
from gdbext.recording.stream import ChunkInfo, Stream, VcpuTotals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

REFRESH_TRIES = 200
RETRY_S = 0.002


@dataclass(frozen=True, slots=True)
class ChunkData:
    """The tokens of one chunk, for the replay.

    Attributes:
        raw: tokens; END is the last one if `complete`.
        run: blocks executed as predicted after the tokens; 0 if `complete`.
        complete: the chunk is in the stream. An incomplete one comes again after a refresh, with
            the same vcpu and seq, and its `raw` then begins with the bytes given before.
        cut: how many instructions of the last block were begun, 0 all; 0 if `complete`.
    """

    vcpu: int
    seq: int
    raw: bytes
    run: int
    complete: bool
    cut: int = 0
    time_ns: int = 0


class Recording:
    """What was executed, from a file or a live directory.

    Attributes:
        path: as given.
        live: it is a directory.
        blocks: block table; ids in chunks index its arrays.
        partial: chunks that are not in the stream, as of the last refresh (live only).
    """

    def __init__(self, path: Path) -> None:
        """Use `Recording.open`."""
        self.path = path
        self.live = path.is_dir()
        self.blocks = BlockTable()
        self.partial: list[ChunkData] = []
        self._stream: Stream
        self._live_buffers: LiveBuffers | None = None
        self._live_blocks: LiveBlocks | None = None
        self._lost: str | None = None

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open and index a recording; its chunks stay compressed on disk.

        Raises:
            TraceFormatError: it cannot be read, is no recording, of another version, or says what
                the format does not allow. A cut or damaged tail is no error: see `cut`.
        """
        self = cls(Path(path))
        try:
            self._open()
            self.refresh()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Close the files; reading chunks is over."""
        for part in (getattr(self, "_stream", None), self._live_buffers, self._live_blocks):
            if part is not None:
                part.close()
        self._live_buffers = self._live_blocks = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def meta(self) -> dict[str, Any]:
        """What the META records say; keys in docs/trace-format.md."""
        return self._stream.meta

    @property
    def generation(self) -> int:
        """One more after each `clear`."""
        return self._stream.generation

    @property
    def chunks(self) -> list[ChunkInfo]:
        """Chunks in the stream, in file order: each vCPU's oldest first."""
        return self._stream.chunks

    @property
    def stream(self) -> Stream:
        """The records, for the text dump and for copying."""
        return self._stream

    @property
    def end(self) -> tuple[VcpuTotals, ...] | None:
        """Totals of each vCPU in the END record; None if the recording was not finished."""
        return self._stream.end

    @property
    def cut(self) -> str | None:
        """One line that says why the recording ends early; None if it does not."""
        return self._stream.cut or self._lost

    @property
    def pid(self) -> int | None:
        """Process id of the QEMU that records (live only)."""
        return self._live_buffers.pid if self._live_buffers else None

    @property
    def n_vcpus(self) -> int:
        """How many vCPUs there are."""
        if self._live_buffers is not None:
            return self._live_buffers.n_vcpus
        seen = 1 + max((chunk.vcpu for chunk in self.chunks), default=-1)
        return max(seen, len(self.end or ()))

    def refresh(self) -> bool:
        """Pick up what was recorded since; for a file, nothing.

        Returns:
            True if the recorder was cleared since, or its ring has turned: forget what was read,
            all begins again.

        Raises:
            TraceFormatError: what is new is damaged, or the recorder leaves no consistent state.
        """
        if not self.live:
            self._stream.scan()
            return False
        cleared = False
        for attempt in range(REFRESH_TRIES):
            if attempt:
                time.sleep(RETRY_S)
            replaced = self._stream.was_replaced()
            if replaced or self._stream.current_generation() != self._stream.generation:
                self._reopen_stream()
                cleared = True
            if self._take_snapshot(last=attempt == REFRESH_TRIES - 1):
                return cleared
        raise TraceFormatError(f"{self.path}: the recorder is changing it all the time; try again")

    def raw_chunk(self, chunk: ChunkInfo) -> bytes:
        """The tokens of a chunk in the stream.

        Raises:
            TraceFormatError: its data is damaged.
        """
        return self._stream.raw_chunk(chunk)

    def data(self, first: int = 0) -> Iterator[ChunkData]:
        """Yield the chunks from number `first` of `chunks` on, then the partial ones.

        Each vCPU's chunks come oldest first.

        Raises:
            TraceFormatError: a chunk's data is damaged.
        """
        for chunk in self.chunks[first:]:
            raw = self.raw_chunk(chunk)
            yield ChunkData(chunk.vcpu, chunk.seq, raw, 0, complete=True, time_ns=chunk.time_ns)
        yield from self.partial

    def newest(self) -> Iterator[ChunkData]:
        """Yield the same chunks, newest first.

        Raises:
            TraceFormatError: a chunk's data is damaged.
        """
        yield from reversed(self.partial)
        for chunk in reversed(self.chunks):
            raw = self.raw_chunk(chunk)
            yield ChunkData(chunk.vcpu, chunk.seq, raw, 0, complete=True, time_ns=chunk.time_ns)

    def _open(self) -> None:
        if not self.live:
            self._stream = Stream(self.path, self.blocks, growing=False)
            return
        if (self.path / "blocks").exists():
            self._live_blocks = LiveBlocks(self.path / "blocks")
        if (self.path / "live").exists():
            self._live_buffers = LiveBuffers(self.path / "live")
        self._stream = self._open_stream()

    def _open_stream(self) -> Stream:
        from_stream = None if self._live_blocks else self.blocks
        return Stream(self.path / "stream", from_stream, growing=True)

    def _reopen_stream(self) -> None:
        """The recorder was cleared: begin again. The table in `blocks` goes on growing."""
        self._stream.close()
        self.partial = []
        self._lost = None
        if self._live_blocks is None:
            self.blocks = BlockTable()
        self._stream = self._open_stream()

    def _take_snapshot(self, *, last: bool) -> bool:
        """Copy buffers, then read the stream, then the block table: this order loses nothing.

        Returns:
            False if the recorder was in between; try again.
        """
        buffers: list[RawBuffer] = []
        if self._live_buffers is not None:
            generation = self._live_buffers.generation
            buffers = self._live_buffers.snapshot()
            if self._live_buffers.generation != generation:
                return False
            if generation != self._stream.generation:
                return False
        if not self._scan_stream():
            return False
        if self._live_blocks is not None:
            self.blocks.append(self._live_blocks.new_entries(), f"{self.path.name}/blocks")
        partial, lost = self._follow_on(buffers)
        if lost is not None and not last and self._stream.cut is None:
            return False
        self.partial = partial
        self._lost = lost
        return True

    def _scan_stream(self) -> bool:
        """Read what is new in a growing stream; False if it was cleared meanwhile."""
        try:
            self._stream.scan()
        except TraceFormatError:
            # Half of the old stream and half of the new one make no sense; that is no damage.
            same = self._stream.current_generation() == self._stream.generation
            if same and not self._stream.was_replaced():
                raise
        return (
            self._stream.current_generation() == self._stream.generation
            and not self._stream.was_replaced()
        )

    def _follow_on(self, buffers: list[RawBuffer]) -> tuple[list[ChunkData], str | None]:
        """The buffers that continue the stream, and a line about one that does not."""
        partial: list[ChunkData] = []
        lost = None
        next_seq: dict[int, int] = {}
        still_filling: set[int] = set()
        for buffer in buffers:
            if buffer.vcpu in still_filling:
                # Copied later, when the one before it had grown beyond its copy.
                continue
            expected = next_seq.get(buffer.vcpu, self._stream.next_seq(buffer.vcpu))
            if buffer.seq < expected:
                continue
            if buffer.seq > expected:
                lost = (
                    f"{self.path.name}: vCPU {buffer.vcpu} chunk {expected} is missing; "
                    "what follows is not read"
                )
                continue
            next_seq[buffer.vcpu] = expected + 1
            if not buffer.full:
                still_filling.add(buffer.vcpu)
            if not buffer.tokens and not buffer.run:
                continue
            partial.append(
                ChunkData(
                    buffer.vcpu,
                    buffer.seq,
                    buffer.tokens,
                    buffer.run,
                    complete=False,
                    cut=buffer.cut,
                    time_ns=buffer.time_ns,
                )
            )
        return partial, lost
