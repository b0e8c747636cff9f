# SPDX-License-Identifier: GPL-2.0-or-later
"""CONTEXT events in the replay: damaged ones are refused, unknown registers left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdbext.errors import TraceFormatError
from gdbext.recording import Recording
from gdbext.recording.format import Event, Register, pack_leb
from gdbext.replay.replay import Replay
from tests.support.recordings import file_bytes
from tests.support.tokens import Step

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
