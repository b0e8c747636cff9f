# SPDX-License-Identifier: GPL-2.0-or-later
"""Filtered recordings: what is recorded equals QEMU's own log, filtered here by address, and the
calls of a filtered function equal those of the whole recording and the program's own books."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest

from gdbext.analyses.workspace import Workspace
from gdbext.errors import ControlError
from gdbext.recording.format import Event, unpack_leb
from gdbext.target.boards import load_board
from gdbext.target.filter import RecordingFilter, set_filter
from gdbext.target.qemu_binary import QemuBinary
from tests.support.executed import VcpuRun, executed, first_difference, marks
from tests.support.firmware import counters, firmware_path
from tests.support.gdbext_cli import gdbext
from tests.support.qemu_runs import icount, record, running
from tests.truth.binutils import functions
from tests.truth.insnlog import instruction_log

FROM, TO = 5, 6
CASES = [
    ("calls", "mps2-an385", "factorial", "calls:factorial"),
    ("calls", "virt-rv32", "dispatch", "calls:dispatch"),
    # Handlers in handlers call it too.
    ("traps", "mps2-an385", "board_software_interrupt", None),
    ("tasks", "mps2-an385", "PendSV_Handler", None),
]


@pytest.mark.parametrize(("program", "board_name", "name", "counter"), CASES)
def test_a_filtered_function_is_recorded_as_in_the_log_and_called_as_in_the_whole(
    program: str,
    board_name: str,
    name: str,
    counter: str | None,
    find_qemu: Callable[[str], QemuBinary],
    tmp_path: Path,
) -> None:
    board = load_board(board_name)
    qemu = find_qemu(board.qemu)
    elf = firmware_path(program, board_name, "O2")
    start, end = ranges_of(elf, board.target)[name]
    options = filter_option(tmp_path, RecordingFilter(ranges=((start, end),), text=name))
    record(board, elf, qemu, tmp_path / "whole", icount(board))

    run = record(board, elf, qemu, tmp_path / "live", icount(board), options=options)

    truth = instruction_log(board, elf, icount(board), qemu)
    ours = executed(tmp_path / "live")[0]
    mine = array("Q", (a for a in ours.addresses if start <= a < end))
    logged = array("Q", (a for a in truth if start <= a < end))
    assert first_difference(mine, logged) is None
    assert 0 < len(ours.addresses) < len(truth) // 2
    assert len(ours.addresses) + left_out(ours) == len(truth)
    whole, filtered = workspace(tmp_path / "whole", elf), workspace(tmp_path / "live", elf)
    expected, found = whole.callers(name), filtered.callers(name)
    assert found.entries == expected.entries
    assert [(c.function, c.calls, c.sites) for c in found.callers] == [
        (c.function, c.calls, c.sites) for c in expected.callers
    ]
    assert [(c.function, c.calls) for c in filtered.callees(name).callees] == [
        (c.function, c.calls) for c in whole.callees(name).callees
    ]
    if counter is not None:
        assert found.calls == counters(run.text())[counter]
    assert filtered.filtered.filters == (name,)
    assert filtered.summary().gaps.count == 0


def test_triggers_record_from_one_instruction_to_the_other(
    find_qemu: Callable[[str], QemuBinary], tmp_path: Path
) -> None:
    board = load_board("mps2-an385")
    qemu = find_qemu(board.qemu)
    elf = firmware_path("calls", "mps2-an385", "O2")
    ranges = ranges_of(elf, board.target)
    begin, end = ranges["round"][0], ranges["tail_first"][0]
    wanted = RecordingFilter(begin=(begin,), end=(end,), text="round to tail_first")

    record(
        board, elf, qemu, tmp_path / "live", icount(board), options=filter_option(tmp_path, wanted)
    )

    truth = instruction_log(board, elf, icount(board), qemu)
    ours = executed(tmp_path / "live")[0]
    assert len(ours.addresses) + left_out(ours) == len(truth)
    kinds = [(kind, text) for _, kind, text in marks(ours) if kind in (FROM, TO)]
    assert kinds == [(FROM, f"{begin:#x}"), (TO, f"{end:#x}")] * 40
    places = [place for place, kind, _ in marks(ours) if kind in (FROM, TO)]
    logged = triggered(truth, begin, end)
    for number, expected in enumerate(logged):
        piece = ours.addresses[places[2 * number] : places[2 * number + 1]]
        # Whole blocks: the one before comes first, and the last one may go on.
        first = piece.index(begin)
        assert list(piece[first : first + len(expected)]) == expected
        assert first <= 64
        assert len(piece) - first - len(expected) <= 64
    assert len(logged) == len(places) // 2


def test_once_ends_for_good(find_qemu: Callable[[str], QemuBinary], tmp_path: Path) -> None:
    board = load_board("mps2-an385")
    elf = firmware_path("calls", "mps2-an385", "O2")
    ranges = ranges_of(elf, board.target)
    wanted = RecordingFilter(
        begin=(ranges["round"][0],), end=(ranges["tail_first"][0],), once=True, text="once"
    )

    options = filter_option(tmp_path, wanted)
    record(board, elf, find_qemu(board.qemu), tmp_path / "live", icount(board), options=options)

    ours = executed(tmp_path / "live")[0]
    assert [kind for _, kind, _ in marks(ours) if kind in (FROM, TO)] == [FROM, TO]


def test_a_filter_is_set_and_taken_away_while_qemu_runs(
    find_qemu: Callable[[str], QemuBinary], tmp_path: Path
) -> None:
    board = load_board("mps2-an385")
    elf = firmware_path("calls", "mps2-an385", "O2")
    start, end = ranges_of(elf, board.target)["leaf"]
    wanted = RecordingFilter(ranges=((start, end),), text="leaf")

    with (
        running(
            board, elf, find_qemu(board.qemu), tmp_path / "live", record=False, gdb=True
        ) as run,
        run.control() as client,
    ):
        set_filter(client, wanted)
        client.start()
        with pytest.raises(ControlError, match="records already"):
            set_filter(client, wanted)
        armed = client.status().filter
        client.stop()
        set_filter(client, RecordingFilter())
        client.start()
        open_again = client.status().filter

    assert (armed, open_again) == ("leaf", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--function", "factoral"], "did you mean factorial?"),
        (["--function", "nothing_like_it"], "'nothing_like_it' is no function"),
        (["--file", "no.c"], "no function of"),
        (["--range", "0x200:0x100"], "is empty"),
        (["--range", "0x200"], "write A:B"),
        (["--from", "main", "--to", "main"], "are the same place"),
        (["--from", "calls.c:99999"], "no instruction of"),
        (["--once"], "--once needs --from and --to"),
        (["--once", "--to", "main"], "--once needs --from and --to"),
    ],
)
def test_options_that_mean_nothing_are_one_clear_line(
    options: list[str], message: str, tmp_path: Path
) -> None:
    elf = firmware_path("calls", "mps2-an385", "O2")
    words = ["record", elf, "--board", "mps2-an385", "-o", tmp_path / "x.rec", *options]

    done = gdbext(*words, runtime=tmp_path)

    assert done.status == 125
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_answers_say_that_the_recording_is_filtered(tmp_path: Path) -> None:
    elf = firmware_path("calls", "mps2-an385", "O2")
    path = tmp_path / "filtered.rec"
    words = ["record", elf, "--board", "mps2-an385", "-o", path, "--function", "factorial"]
    assert gdbext(*words, runtime=tmp_path).status == 0

    summary = json.loads(gdbext("analyze", path, "--json", runtime=tmp_path).out)
    texts = {
        verb: gdbext(verb, path, *words, runtime=tmp_path)
        for verb, *words in (
            ["analyze"],
            ["coverage"],
            ["tree"],
            ["profile"],
            ["callers", "factorial"],
            ["list", "factorial"],
            ["last"],
        )
    }

    assert summary["filtered"]["filters"] == ["--function factorial"]
    assert summary["filtered"]["n_insns"] > summary["instructions"]
    for verb, done in texts.items():
        assert "filtered by --function factorial" in done.out + done.err, verb
    assert "Never executed" not in texts["analyze"].out


def ranges_of(elf: Path, target: str) -> dict[str, tuple[int, int]]:
    """The functions' code by name, as nm says."""
    return {f.name: (f.address, f.address + f.size_bytes) for f in functions(elf, target)}


def filter_option(directory: Path, wanted: RecordingFilter) -> str:
    """The plugin's option for a filter."""
    path = directory / "filter"
    path.write_text("".join(f"{request}\n" for request in wanted.requests()))
    return f"filter={path}"


def workspace(path: Path, elf: Path) -> Workspace:
    """The recording, replayed."""
    made = Workspace(path, elf)
    made.refresh()
    return made


def left_out(run: VcpuRun) -> int:
    """Instructions that the GAP events of a filter count."""
    total = 0
    for at in run.events:
        if at.event == Event.GAP:
            reason, offset = unpack_leb(at.payload, 0)
            _, offset = unpack_leb(at.payload, offset)
            assert reason == 5
            total += unpack_leb(at.payload, offset)[0]
    return total


def triggered(addresses: array[int], begin: int, end: int) -> list[list[int]]:
    """What was executed from each `begin` to the next `end`, both included."""
    pieces: list[list[int]] = []
    on = False
    for address in addresses:
        if address == begin and not on:
            on = True
            pieces.append([])
        if on:
            pieces[-1].append(address)
        if address == end:
            on = False
    return pieces
