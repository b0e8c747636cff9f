# SPDX-License-Identifier: GPL-2.0-or-later
"""A small recording with every byte flipped and cut at every length: never wrong data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gdbext.errors import TraceFormatError
from gdbext.recording import Recording
from tests.support.recordings import BLOCKS, file_bytes, some_steps
from tests.support.tokens import Step, decode

CHUNKS = [some_steps(2), some_steps(30)]
WHOLE = file_bytes(CHUNKS)
N_RECORDS = 5  # META, BLOCKS, two CHUNKs, END


def content(path: Path) -> tuple[dict[str, Any], bytes, list[list[Step]], str | None, int]:
    with Recording.open(path) as recording:
        steps = [decode(chunk.raw, len(BLOCKS)) for chunk in recording.data()]
        blocks = recording.blocks
        return (
            recording.meta,
            blocks.entries(1, len(blocks)),
            steps,
            recording.cut,
            len(recording.stream.records),
        )


def is_prefix(path: Path) -> None:
    """The file gives a prefix of the whole one's content and says that it ends early."""
    whole_meta, whole_blocks, whole_steps, _, _ = whole(path)
    meta, blocks, steps, cut, n_records = content(path)
    assert cut is not None
    assert "\n" not in cut
    assert n_records < N_RECORDS
    assert meta == (whole_meta if n_records > 0 else {})
    assert blocks == (whole_blocks if n_records > 1 else b"")
    assert steps == whole_steps[: max(n_records - 2, 0)]


def whole(path: Path) -> tuple[dict[str, Any], bytes, list[list[Step]], str | None, int]:
    other = path.with_name("whole.rec")
    other.write_bytes(WHOLE)
    return content(other)


def test_whole_file_has_no_cut(tmp_path: Path) -> None:
    _, blocks, steps, cut, n_records = whole(tmp_path / "run.rec")

    assert (blocks, steps, cut, n_records) == (b"".join(BLOCKS), CHUNKS, None, N_RECORDS)


def test_every_truncation_is_a_prefix(tmp_path: Path) -> None:
    path = tmp_path / "run.rec"
    for length in range(len(WHOLE)):
        path.write_bytes(WHOLE[:length])
        if length < 32:
            with pytest.raises(TraceFormatError, match=r"run\.rec: "):
                Recording.open(path)
        else:
            is_prefix(path)


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_every_flipped_byte_is_noticed(tmp_path: Path, flip: int) -> None:
    path = tmp_path / "run.rec"
    for place in range(len(WHOLE)):
        data = bytearray(WHOLE)
        data[place] ^= flip
        path.write_bytes(data)
        if place < 32:
            with pytest.raises(TraceFormatError, match=r"run\.rec: "):
                Recording.open(path)
        else:
            is_prefix(path)
