# SPDX-License-Identifier: GPL-2.0-or-later
"""The C decoder against a second decoder written from the format's description."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdbext.errors import TraceFormatError
from gdbext.recording.tokens import BlockStep, pack_end, pack_event, pack_new, steps
from tests.support.tokens import DamagedTokensError, Step, decode, encode

MAX_BLOCK = 20

step = st.integers(1, MAX_BLOCK) | st.tuples(st.integers(1, 10), st.binary(max_size=200))


def by_library(raw: bytes, run: int = 0, max_block: int = MAX_BLOCK) -> list[Step]:
    return [
        item.block if isinstance(item, BlockStep) else (item.event, item.payload)
        for item in steps(raw, run, max_block, "test")
    ]


@given(st.lists(step, max_size=60), st.integers(0, 12), st.booleans())
def test_library_decodes_what_the_description_says(
    some: list[Step], repeat: int, end: bool
) -> None:
    wanted = some * repeat

    raw, run = encode(wanted, end=end)

    assert by_library(raw, run) == wanted
    assert decode(raw, MAX_BLOCK, run) == wanted


@pytest.mark.parametrize("length", [0, 1, 61, 62, 63, 64, 63 + 127, 63 + 128, 5000, 20_000])
def test_runs_of_every_encoded_length(length: int) -> None:
    wanted: list[Step] = [*([1] * (8 + length)), 2]

    raw, _ = encode(wanted)

    assert by_library(raw) == wanted


def test_long_chunks_come_whole() -> None:
    source = random.Random(1)
    wanted: list[Step] = [source.choice((1, 2, 2, 3)) for _ in range(30_000)]

    raw, _ = encode(wanted)

    assert by_library(raw) == wanted


def test_written_tokens_mean_what_they_say() -> None:
    raw = pack_new(1) + pack_new(300) + pack_event(6, b"x" * 150) + pack_new(1) + pack_end()

    assert decode(raw, 300) == [1, 300, (6, b"x" * 150), 1]


@settings(max_examples=400)
@given(st.binary(max_size=24))
def test_any_bytes_decode_alike_or_are_refused_by_both(raw: bytes) -> None:
    try:
        wanted = decode(raw, MAX_BLOCK)
    except DamagedTokensError:
        wanted = None

    try:
        found = by_library(raw)
    except TraceFormatError:
        found = None

    assert found == wanted


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00",  # SECOND where there is none
        b"\x04",  # a run where nothing is predicted
        b"\x01",  # NEW without its id
        b"\x01\x00",  # id 0
        b"\x01\x15",  # id above the table
        b"\x02\x0b\x00",  # unknown event
        b"\x02\x06\x02x",  # payload does not fit
        b"\x03\x03",  # bytes after END
        b"\xff" + b"\xff" * 11,  # leb of more than 64 bits
    ],
)
def test_damaged_tokens_are_named_with_their_place(raw: bytes) -> None:
    with pytest.raises(TraceFormatError, match=r"^test: offset 0x\d+ of the tokens: "):
        by_library(raw)
