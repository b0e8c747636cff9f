# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings and live directories made up for tests, byte by byte from docs/trace-format.md."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass, field
from pathlib import Path

from gdbext.recording.blocks import pack_block
from gdbext.recording.format import pack_leb
from gdbext.recording.writer import RecordingWriter
from tests.support.tokens import Step, encode

BLOCKS = [
    pack_block(0x1000, b"\2\2\4", bytes.fromhex("00bf00bf00f001f8")),
    pack_block(0x1008, b"\2", bytes.fromhex("7047")),
    pack_block(0x2000, b"\4\2", bytes.fromhex("dff80440a047")),
]
INSNS = [0, 3, 1, 2]
META = {"target": "arm", "vcpus": 1}
LIVE_BUFFER_SIZE = 4096


def insns_of(steps: list[Step]) -> int:
    """Instructions executed, with CUT events taken off."""
    count = last = 0
    for step in steps:
        if isinstance(step, int):
            last = INSNS[step]
            count += last
        elif step[0] == 1:
            count -= last - step[1][0]
    return count


def blocks_of(steps: list[Step]) -> int:
    """Blocks executed."""
    return sum(isinstance(step, int) for step in steps)


def some_steps(n: int = 5) -> list[Step]:
    """A loop with a CUT and a MARK in it."""
    steps: list[Step] = [(6, pack_leb(1) + pack_leb(77) + b"go")]
    for _ in range(n):
        steps += [1, 2, 3]
    return [*steps, 1, (1, pack_leb(2)), 3, 2]


def file_bytes(
    chunks: list[list[Step]], *, end: bool = True, generation: int = 0, n_vcpus: int = 1
) -> bytes:
    """A recording file; chunk number i is of vCPU i modulo n_vcpus."""
    out = io.BytesIO()
    writer = RecordingWriter(out, generation)
    writer.meta(META)
    writer.blocks(BLOCKS)
    for number, steps in enumerate(chunks):
        writer.chunk(
            encode(steps)[0],
            n_insns=insns_of(steps),
            n_blocks=blocks_of(steps),
            vcpu=number % n_vcpus,
            time_ns=1000 + number,
        )
    if end:
        writer.end(n_vcpus)
    return out.getvalue()


@dataclass
class LiveDirectory:
    """The files of a recorder at work, changed the way the recorder changes them."""

    path: Path
    n_vcpus: int = 1
    n_buffers: int = 2
    generation: int = 0
    entries: list[bytes] = field(default_factory=lambda: list(BLOCKS))

    def __post_init__(self) -> None:
        self.path.mkdir(exist_ok=True)
        self.write_stream(file_bytes([], end=False, generation=self.generation))
        size = 4096 + self.n_vcpus * self.n_buffers * LIVE_BUFFER_SIZE
        header = struct.pack(
            "<8sIIQQI", b"GXLIVE1\0", self.n_vcpus, self.n_buffers, LIVE_BUFFER_SIZE, 0, 4242
        )
        (self.path / "live").write_bytes(header.ljust(size, b"\0"))
        (self.path / "blocks").write_bytes(b"GXBLOCK1".ljust(1 << 16, b"\0"))
        self.publish_blocks(self.entries)

    def write_stream(self, data: bytes) -> None:
        """Replace the whole stream."""
        (self.path / "stream").write_bytes(data)

    def publish_blocks(self, entries: list[bytes]) -> None:
        """The block table, entries first, then `used`."""
        raw = b"".join(entries)
        self._put("blocks", 64, raw)
        self._put("blocks", 8, struct.pack("<Q", len(raw)))

    def put_buffer(
        self,
        index: int,
        tokens: bytes,
        run: int,
        *,
        seq: int,
        vcpu: int = 0,
        state: int = 1,
        cut: int = 0,
    ) -> None:
        """One buffer of `live`, number `index` of all."""
        start = 4096 + index * LIVE_BUFFER_SIZE
        word = len(tokens) << 40 | run
        header = struct.pack("<QIIIIQQQI", word, 0, state, vcpu, 0, seq, 5000 + seq, word, cut)
        self._put("live", start, header.ljust(64, b"\0") + tokens)

    def set_generation(self, generation: int) -> None:
        """Field generation of `live`."""
        self._put("live", 24, struct.pack("<Q", generation))

    def _put(self, name: str, offset: int, data: bytes) -> None:
        with (self.path / name).open("r+b") as out:
            out.seek(offset)
            out.write(data)
