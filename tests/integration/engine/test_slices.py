# SPDX-License-Identifier: GPL-2.0-or-later
"""Slices: against the programs' books, QEMU's instruction log, and themselves."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import pytest

from gdbext.replay.slices import SliceWindow
from gdbext.target.boards import load_board
from tests.integration.engine.runs import BOARDS, FindQemu
from tests.support.books import Books, read_books
from tests.support.firmware import firmware_path
from tests.support.gdb_session import gdb_batch
from tests.support.gdbext_cli import gdbext
from tests.support.qemu_runs import icount, record
from tests.support.slices import assert_nested, paths_of, read_slices, timeline_of
from tests.truth.binutils import disassemble, functions
from tests.truth.insnlog import instruction_log

ALL = SliceWindow(runs=True)


def recorded(
    program: str, board_name: str, variant: str, find_qemu: FindQemu, directory: Path
) -> tuple[Path, Path, Books]:
    board = load_board(board_name)
    elf = firmware_path(program, board_name, variant)
    done = record(board, elf, find_qemu(board.qemu), directory / "t", icount(board))
    return done.directory, elf, read_books(done.text())


PROGRAMS = [
    *(("calls", "O2"), ("traps", "O2"), ("tasks", "O2"), ("coop", "O2-own")),
    # Who runs is in doubt, and put right later.
    *(("tasks", "O2-shared"), ("coop", "O2-shared")),
]


@pytest.mark.parametrize("board_name", BOARDS)
@pytest.mark.parametrize(("program", "variant"), PROGRAMS)
def test_slices_are_the_activations_in_the_books(
    program: str, variant: str, board_name: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    recording, elf, books = recorded(program, board_name, variant, find_qemu, tmp_path)

    timeline = timeline_of(recording, elf, ALL)
    slices = list(timeline.slices())

    assert_nested(slices, timeline.instructions[0])
    assert paths_of(slices, books.functions_with_paths) == books.paths
    began = [each for each in slices if each.kind != "run" and not each.open_start]
    calls = Counter(each.function.name for each in began)
    assert {name: calls[name] for name in books.calls} == books.calls
    nesting = max(each.level for each in slices)
    assert nesting == books.counters.get("max_nesting", nesting) > 0
    if not variant.endswith("shared"):
        runs = Counter(each.task for each in slices if each.kind == "run")
        assert {name: runs[name] for name in books.switches} == books.switches
    assert timeline.left_out() == (len(slices), 0, 0, 0)


def test_calls_open_at_each_instruction_are_those_of_the_log(
    find_qemu: FindQemu, tmp_path: Path
) -> None:
    board = load_board("mps2-an385")
    recording, elf, _ = recorded("calls", board.name, "O2-quiet", find_qemu, tmp_path)
    log = instruction_log(board, elf, qemu=find_qemu(board.qemu))

    changes = [0] * (len(log) + 1)
    for each in read_slices(recording, elf, SliceWindow()):
        if each.kind == "call":
            changes[each.start] += 1
            changes[each.end] -= 1

    assert list(accumulate(changes))[:-1] == open_calls(log, elf)


def open_calls(log: Sequence[int], elf: Path) -> list[int]:
    """How many calls are open at each instruction of a log, from mnemonics alone (Cortex-M).

    A call is `bl` or `blx` that did not go to the next address; it is over when control comes to
    the address behind it, other than from the instruction before. `jump_long` goes back into
    `catcher`, its newest activation.
    """
    insns = disassemble(elf, "arm")
    (catcher,) = (f for f in functions(elf, "arm") if f.name == "catcher")
    (jump,) = (f for f in functions(elf, "arm") if f.name == "jump_long")
    stack: list[tuple[int, int]] = []  # where it returns to, where it was entered
    depths = []
    before, after = 0, log[0]
    for address in log:
        insn = insns.get(before)
        if address != after:
            if insn is not None and insn.text.split()[0] in ("bl", "blx"):
                stack.append((after, address))
            elif jump.address <= before < jump.address + jump.size_bytes and (
                catcher.address <= address < catcher.address + catcher.size_bytes
            ):
                while stack[-1][1] != catcher.address:
                    stack.pop()
            elif stack and address == stack[-1][0]:
                stack.pop()
        depths.append(len(stack))
        before = address
        after = address + (insns[address].size_bytes if address in insns else 4)
    return depths


@pytest.mark.parametrize("edges", [(0, 30_000), (60_000, 60_500), (100_000, None)])
def test_window_shows_what_lies_in_it(
    edges: tuple[int, int | None], find_qemu: FindQemu, tmp_path: Path
) -> None:
    recording, elf, _ = recorded("traps", "mps2-an385", "O0", find_qemu, tmp_path)
    everything = read_slices(recording, elf, ALL)
    total = max(each.end for each in everything)
    start, end = edges[0], edges[1] or total

    slices = read_slices(recording, elf, SliceWindow(*edges, runs=True))

    assert_nested(slices, end - start)
    expected = Counter(
        (
            *(each.kind, each.function, each.level, each.depth),
            *(max(each.start, start), min(each.end, end)),
            each.open_start or each.start < start,
            each.open_end or each.end > end,
        )
        for each in everything
        if each.start < end and each.end > start
    )
    assert Counter((*(each[i] for i in (0, 1, 4, 5, 6, 7, 10, 11)),) for each in slices) == expected


def test_short_deep_and_not_so_long_slices_are_left_out_and_counted(
    find_qemu: FindQemu, tmp_path: Path
) -> None:
    recording, elf, _ = recorded("traps", "mps2-an385", "O2", find_qemu, tmp_path)
    everything = read_slices(recording, elf, SliceWindow())
    lengths = sorted((each.end - each.start for each in everything), reverse=True)
    long_enough = [e for e in everything if e.end - e.start >= 100 or e.open_end]

    longer = timeline_of(recording, elf, SliceWindow(min_insns=100))
    shallow = timeline_of(recording, elf, SliceWindow(max_depth=2))
    longest = timeline_of(recording, elf, SliceWindow(longest=25))

    assert list(longer.slices()) == long_enough
    assert longer.left_out().shorter == len(everything) - len(long_enough) > 0
    assert list(shallow.slices()) == [each for each in everything if each.depth <= 2]
    assert shallow.left_out().deeper == sum(each.depth > 2 for each in everything) > 0
    kept = list(longest.slices())
    assert sorted((each.end - each.start for each in kept), reverse=True) == lengths[:25]
    assert set(kept) <= set(everything)
    assert kept == sorted(kept, key=lambda each: (each.start, each.depth))
    assert longest.left_out().dropped == len(everything) - 25


def test_same_slices_as_json_lines_as_csv_and_in_gdb(find_qemu: FindQemu, tmp_path: Path) -> None:
    recording, elf, _ = recorded("tasks", "mps2-an385", "O0", find_qemu, tmp_path)
    words = ["--from", "50k", "--to", "60k", "--min", "10"]
    expected = read_slices(recording, elf, SliceWindow(50_000, 60_000, 10, runs=True))

    lines = gdbext("timeline", recording, "--elf", elf, *words, "--json", runtime=tmp_path)
    table = gdbext("timeline", recording, "--elf", elf, *words, "--csv", runtime=tmp_path)
    in_gdb = gdb_batch(
        f"trace load {recording}", "trace timeline --top 3 --to 60000", runtime=tmp_path, elf=elf
    )

    head, *slices, left_out = map(json.loads, lines.out.splitlines())
    assert (head["schema"], head["from"], head["to"]) == ("gdbext/timeline/1", 50_000, 60_000)
    assert slices == [json.loads(json.dumps(each.to_json())) for each in expected]
    assert left_out["slices"]["shorter"] > 0
    rows = list(csv.DictReader(io.StringIO(table.out)))
    assert [(row["name"], int(row["start"]), int(row["self_insns"])) for row in rows] == [
        (each.function.name, each.start, each.self_insns) for each in expected
    ]
    assert "shorter than --min" in table.err
    assert in_gdb.err == ""
    assert "Reset_Handler (task)" in in_gdb.out
    assert "not among the longest (--top N shows more)" in in_gdb.out


def test_window_that_cannot_be_is_refused(find_qemu: FindQemu, tmp_path: Path) -> None:
    recording, elf, _ = recorded("traps", "mps2-an385", "O2", find_qemu, tmp_path)

    backwards = gdbext("timeline", recording, "--from", "5", "--to", "5", runtime=tmp_path)
    beyond = gdbext("timeline", recording, "--elf", elf, "--from", "9G", runtime=tmp_path)

    assert (backwards.status, beyond.status) == (2, 2)
    assert backwards.err == "gdbext: timeline: --to 5 is not after --from 5\n"
    assert beyond.err.startswith("gdbext: timeline: --from 9000000000: the recording has ")
