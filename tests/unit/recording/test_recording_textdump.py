# SPDX-License-Identifier: GPL-2.0-or-later
"""The text form of a recording: a listing compared line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdbext.recording import Recording
from gdbext.recording.format import pack_leb
from gdbext.recording.textdump import dump_lines, event_text
from tests.support.recordings import LiveDirectory, file_bytes, some_steps
from tests.support.tokens import encode


def lines(path: Path, **options: bool) -> list[str]:
    with Recording.open(path) as recording:
        return list(dump_lines(recording, **options))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "run.rec"
    made.write_bytes(file_bytes([some_steps(1)]))
    return made


def without_places(found: list[str]) -> list[str]:
    """Offsets and compressed lengths are the compressor's affair."""
    return [
        " ".join(
            word
            for word in line.split()
            if not word.startswith(("offset=", "length=", "raw_length="))
        )
        for line in found
    ]


def test_one_record_a_line(path: Path) -> None:
    assert without_places(lines(path)) == [
        "FILE version=1 generation=0 live=0",
        'META target="arm" vcpus=1',
        "BLOCKS first_id=1 count=3",
        "CHUNK vcpu=0 seq=0 first_insn=0 n_insns=11 n_blocks=6 time_ns=1000",
        "END vcpu=0 instructions=11 blocks=6",
    ]


def test_blocks_events_and_instructions_in_their_places(path: Path) -> None:
    found = without_places(lines(path, blocks=True, events=True, insns=True))

    assert found[3:6] == [
        "BLOCK id=1 address=0x1000 sizes=2,2,4 code=00bf00bf00f001f8",
        "BLOCK id=2 address=0x1008 sizes=2 code=7047",
        "BLOCK id=3 address=0x2000 sizes=4,2 code=dff80440a047",
    ]
    assert found[7:] == [
        'EVENT vcpu=0 MARK kind=start time_ns=77 text="go"',
        "EXEC vcpu=0 block=1 address=0x1000",
        "INSN vcpu=0 address=0x1000 code=00bf",
        "INSN vcpu=0 address=0x1002 code=00bf",
        "INSN vcpu=0 address=0x1004 code=00f001f8",
        "EXEC vcpu=0 block=2 address=0x1008",
        "INSN vcpu=0 address=0x1008 code=7047",
        "EXEC vcpu=0 block=3 address=0x2000",
        "INSN vcpu=0 address=0x2000 code=dff80440",
        "INSN vcpu=0 address=0x2004 code=a047",
        "EXEC vcpu=0 block=1 address=0x1000",
        "INSN vcpu=0 address=0x1000 code=00bf",
        "INSN vcpu=0 address=0x1002 code=00bf",
        "EVENT vcpu=0 CUT begun=2",
        "EXEC vcpu=0 block=3 address=0x2000",
        "INSN vcpu=0 address=0x2000 code=dff80440",
        "INSN vcpu=0 address=0x2004 code=a047",
        "EXEC vcpu=0 block=2 address=0x1008",
        "INSN vcpu=0 address=0x1008 code=7047",
        "END vcpu=0 instructions=11 blocks=6",
    ]


def test_other_events_before_a_cut_do_not_hide_it(tmp_path: Path) -> None:
    idle, resume, cut = (4, pack_leb(12)), (5, pack_leb(13)), (1, pack_leb(1))
    path = tmp_path / "run.rec"
    path.write_bytes(file_bytes([[1, idle, resume, cut, 3, idle]]))

    found = without_places(lines(path, events=True, insns=True))

    assert found[4:-1] == [
        "INSN vcpu=0 address=0x1000 code=00bf",
        "EVENT vcpu=0 IDLE time_ns=12",
        "EVENT vcpu=0 RESUME time_ns=13",
        "EVENT vcpu=0 CUT begun=1",
        "INSN vcpu=0 address=0x2000 code=dff80440",
        "INSN vcpu=0 address=0x2004 code=a047",
        "EVENT vcpu=0 IDLE time_ns=12",
    ]


def test_offsets_are_those_in_the_file(path: Path) -> None:
    data = path.read_bytes()
    for line in lines(path)[1:]:
        kind, offset = line.split()[:2]
        place = int(offset.removeprefix("offset="), 0)
        assert data[place : place + 4] == b"GXR1"
        assert ["META", "BLOCKS", "CHUNK", "END"][data[place + 4] - 1] == kind


def test_cut_is_the_last_line(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])

    assert lines(path)[-1].startswith('CUT message="run.rec: offset 0x')


def test_live_buffers_come_after_the_records(tmp_path: Path) -> None:
    live = LiveDirectory(tmp_path / "live")
    live.put_buffer(0, *encode([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], end=False), seq=0, cut=1)

    found = lines(live.path, insns=True)

    partial = next(line for line in found if line.startswith("PARTIAL"))
    assert partial.startswith("PARTIAL vcpu=0 seq=0 time_ns=5000 raw_length=")
    assert partial.endswith("cut=1")
    assert sum(line.startswith("INSN") for line in found) == 10 * 3 + 1


@pytest.mark.parametrize(
    ("event", "numbers", "text", "wanted"),
    [
        (2, [1, 0x80, 0x100], b"", "TRAP kind=interrupt from=0x80 to=0x100"),
        (2, [9, 0, 0], b"", "TRAP kind=9 from=0x0 to=0x0"),
        (3, [2, 14, 2**64 - 7, 0, 1], b"", "CONTEXT r14=0xfffffffffffffff9 r0=0x1"),
        (3, [3, 1, 12, 2, 8, 17, 15], b"", "CONTEXT probe=vector+return sp=0x8 xpsr=0xf"),
        (3, [1, 1, 128], b"", "CONTEXT probe=128"),
        (4, [12], b"", "IDLE time_ns=12"),
        (5, [13], b"", "RESUME time_ns=13"),
        (6, [3, 5], b'a "b"\n', 'MARK kind=text time_ns=5 text="a \\"b\\"\\n"'),
        (7, [1], b"later fields are ignored", "RESET time_ns=1"),
        (8, [1, 0], b"", "GAP reason=disk n_blocks=unknown"),
        (8, [2, 6], b"", "GAP reason=block-table-full n_blocks=6"),
        (9, [300], b"", "TURN number=300"),
        (10, [3, 4], b"", "SYNC epoch=3 time_ns=4"),
    ],
)
def test_every_event_has_its_fields(
    event: int, numbers: list[int], text: bytes, wanted: str
) -> None:
    payload = b"".join(pack_leb(number) for number in numbers) + text

    assert event_text(event, payload) == wanted
