# SPDX-License-Identifier: GPL-2.0-or-later
"""CONTEXT events in the replay: damaged ones are refused, unknown registers left out."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gdbext.errors import TraceFormatError
from gdbext.recording import Recording
from gdbext.recording.blocks import pack_block
from gdbext.recording.format import Event, Probe, Register, pack_leb
from gdbext.recording.writer import RecordingWriter
from gdbext.replay.replay import Replay
from tests.support.recordings import META, file_bytes
from tests.support.tokens import Step, encode

NUMBERS = [3, Register.PROBE, 4, Register.SP, 2**64 - 1, 9999, 7]


def replay(path: Path, payload: bytes) -> Replay:
    """A replay of some blocks with the event between them."""
    steps: list[Step] = [1, 2, (Event.CONTEXT, payload), 3, 1, 2]
    path.write_bytes(file_bytes([steps]))
    with Recording.open(path) as recording:
        done = Replay(recording)
        done.update()
        done.tables()
    return done


def packed(numbers: list[int]) -> bytes:
    return b"".join(pack_leb(number) for number in numbers)


def test_unknown_registers_and_further_bytes_are_left_out(tmp_path: Path) -> None:
    plain = replay(tmp_path / "plain.rec", packed([0]))
    found = replay(tmp_path / "t.rec", packed(NUMBERS) + b"later fields")

    assert found.tables().n_insns == plain.tables().n_insns == {0: 3 + 1 + 2 + 3 + 1}


@pytest.mark.parametrize("length", range(len(packed(NUMBERS))))
def test_cut_payloads_are_refused_with_their_place(length: int, tmp_path: Path) -> None:
    payload = packed(NUMBERS)[:length]

    with pytest.raises(TraceFormatError, match=r"vCPU 0 chunk 0: offset 0x\w+ .*CONTEXT"):
        replay(tmp_path / "t.rec", payload)


def test_a_count_beyond_the_payload_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceFormatError, match="CONTEXT"):
        replay(tmp_path / "t.rec", packed([2**64 - 1, Register.SP, 1]))


THREAD, AFTER_CALL, CALLED, HANDLER = range(1, 5)
ADDRESSES = {THREAD: 0x1000, AFTER_CALL: 0x1004, CALLED: 0x2000, HANDLER: 0x3000}
M_PROFILE_BLOCKS = [
    pack_block(ADDRESSES[THREAD], b"\4", bytes.fromhex("00f0feff")),  # bl CALLED, to 0x2000
    pack_block(ADDRESSES[AFTER_CALL], b"\2", bytes.fromhex("fce7")),  # b THREAD
    pack_block(ADDRESSES[CALLED], b"\2", bytes.fromhex("7047")),  # bx lr
    pack_block(ADDRESSES[HANDLER], b"\4", bytes.fromhex("fdf7feff")),  # bl THREAD
]


def context(why: int, exception: int) -> Step:
    """Registers of a Cortex-M that has interrupted, or goes on in, thread mode."""
    pairs = {Register.PROBE: why, Register.LR: 0xFFFFFFF9, Register.XPSR: exception}
    numbers = [len(pairs), *(number for pair in pairs.items() for number in pair)]
    return (Event.CONTEXT, packed(numbers))


def test_a_handler_ends_where_its_call_would_return_to_if_the_exception_number_says_so(
    tmp_path: Path,
) -> None:
    """The thread waits after the call that the handler makes too, and never returns from."""
    around: list[Step] = [THREAD, CALLED, AFTER_CALL]
    steps: list[Step] = [
        *around * 3,
        THREAD,
        CALLED,
        context(Probe.VECTOR, 15),
        HANDLER,
        THREAD,
        CALLED,
        context(Probe.RETURN, 0),
        AFTER_CALL,
        *around,
    ]
    out = io.BytesIO()
    writer = RecordingWriter(out, 0)
    writer.meta(META)
    writer.blocks(M_PROFILE_BLOCKS)
    blocks = [step for step in steps if isinstance(step, int)]
    writer.chunk(encode(steps)[0], n_insns=len(blocks), n_blocks=len(blocks), vcpu=0, time_ns=1)
    writer.end(1)
    (tmp_path / "t.rec").write_bytes(out.getvalue())

    with Recording.open(tmp_path / "t.rec") as recording:
        done = Replay(recording, m_profile=True, vectors={ADDRESSES[HANDLER]: 0})
        done.update()
        stats, (handler,) = done.tables().stats, done.calls().handlers

    assert stats.traps == stats.trap_returns == 1
    assert handler.self_insns == len([HANDLER, THREAD, CALLED])
    assert stats.unmatched_returns == stats.above_start == stats.ambiguous == 0
