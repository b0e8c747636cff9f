# SPDX-License-Identifier: GPL-2.0-or-later
"""The CSV of executed branches against QEMU's one-instruction log and objdump's mnemonics."""

from __future__ import annotations

import csv
import itertools
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gdbext.analyses.workspace import Workspace
from gdbext.errors import TargetError
from gdbext.target.boards import load_board
from tests.support.firmware import firmware_path
from tests.support.gdbext_cli import gdbext
from tests.support.qemu_runs import icount, record
from tests.support.qemus import qemu_in
from tests.truth.binutils import PREFIXES, symbols
from tests.truth.insnlog import instruction_log
from tests.truth.listing import SAYS, listing

PROGRAMS = [
    ("calls", "mps2-an385", "O2-quiet"),
    ("basic", "mps2-an385", "O0"),
    ("basic", "vexpress-a9", "O2"),
    ("basic", "virt-rv32", "O2"),
]
BRANCHES = {"JUMP", "COND", "CALL", "CALL_INDIRECT", "JUMP_INDIRECT", "RETURN", "TRAP_RETURN"}
Row = tuple[str, int, int | None]


@dataclass
class Run:
    """A recording, its program, and what the log of instructions tells."""

    workspace: Workspace
    elf: Path
    code: set[int]
    rows: list[Row] = field(default_factory=list)
    """Of the ELF file's branches."""
    trapped_to: set[int] = field(default_factory=set)
    """Where control went from instructions that are no branches."""


@pytest.fixture(scope="module", params=PROGRAMS, ids="-".join)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Each program, run twice."""
    program, board_name, variant = request.param
    board = load_board(board_name)
    elf = firmware_path(program, board_name, variant)
    qemu = qemu_in("", board.qemu)
    live = tmp_path_factory.mktemp("log") / "live"
    record(board, elf, qemu, live, icount(board))
    workspace = Workspace(live, elf)
    workspace.refresh()
    code = {i.address: i for i in listing(f"{PREFIXES[board.target]}objdump", elf) if i}
    log = instruction_log(board, elf, icount(board), qemu)
    run = Run(workspace, elf, set(code))
    for address, following in itertools.pairwise(log):
        insn = code.get(address)
        if insn is None:
            continue
        if SAYS[board.target](insn).kind in BRANCHES:
            run.rows.append((insn.code.hex(), address, following))
        elif following not in (address, address + len(insn.code)):
            run.trapped_to.add(following)
    return run


def read(path: Path) -> list[Row]:
    """The rows of a log."""
    with path.open(newline="") as file:
        return [
            (
                row["opcode"],
                int(row["address"], 16),
                int(row["target"], 16) if row["target"] else None,
            )
            for row in csv.DictReader(file)
        ]


def test_rows_are_the_executed_branches_in_order(recorded: Run, tmp_path: Path) -> None:
    expected = recorded.rows

    totals = recorded.workspace.branch_log(tmp_path / "b.csv", None, None, 10**9)

    every = read(tmp_path / "b.csv")
    rows = [row for row in every if row[1] in recorded.code]
    assert totals.rows == len(every)
    assert len(every) - len(rows) < 10  # the boot ROM
    assert totals.begun and not totals.more
    # A machine that is switched off by an instruction may have one branch more or less at the end.
    assert abs(len(rows) - len(expected)) <= 1
    different = unknown = 0
    for ours, theirs in zip(rows, expected, strict=False):
        assert ours[:2] == theirs[:2]
        unknown += ours[2] is None
        if ours[2] != theirs[2]:
            # An interrupt came: the log goes on in the handler, the branch did not go there.
            different += 1
            assert theirs[2] in recorded.trapped_to, hex(theirs[1])
    assert unknown == totals.unknown
    assert different <= len(rows) // 50
    if "quiet" in recorded.elf.name:
        assert not different


def test_window_begins_and_ends_where_asked(recorded: Run, tmp_path: Path) -> None:
    workspace, elf = recorded.workspace, recorded.elf
    main = symbols(elf, workspace.program.target)["main"]
    report = symbols(elf, workspace.program.target)["gx_report"]
    workspace.branch_log(tmp_path / "all.csv", None, None, 10**9)

    totals = workspace.branch_log(tmp_path / "b.csv", "main", hex(report), 10**9)

    every, rows = read(tmp_path / "all.csv"), read(tmp_path / "b.csv")
    first = next(n for n, row in enumerate(every) if row[2] == main) + 1
    last = next(n for n, row in enumerate(every) if row[2] == report) + 1
    assert rows == every[first:last]
    assert totals.begun and not totals.more


def test_rows_beyond_the_limit_are_left_out_and_said(recorded: Run, tmp_path: Path) -> None:
    workspace = recorded.workspace
    workspace.branch_log(tmp_path / "all.csv", None, None, 10**9)

    totals = workspace.branch_log(tmp_path / "b.csv", None, None, 25)

    assert read(tmp_path / "b.csv") == read(tmp_path / "all.csv")[:25]
    assert totals.more and totals.rows == 25


def test_log_that_cannot_be_written_is_one_line_and_leaves_no_file(
    recorded: Run, tmp_path: Path
) -> None:
    workspace = recorded.workspace

    with pytest.raises(TargetError, match="cannot be written: No space left on device"):
        workspace.branch_log(Path("/dev/full"), None, None, 1_000_000)
    with pytest.raises(TargetError, match="cannot be written: No such file"):
        workspace.branch_log(tmp_path / "no" / "b.csv", None, None, 10)


def test_start_that_never_runs_is_said(tmp_path: Path) -> None:
    elf = firmware_path("demo", "mps2-an385", "")
    gdbext("record", elf, "--board", "mps2-an385", "-o", tmp_path / "t.rec", runtime=tmp_path)

    done = gdbext(
        *("branches", tmp_path / "t.rec", "--log", tmp_path / "b.csv", "--from", "panic"),
        runtime=tmp_path,
    )

    assert done.status == 0, done.err
    assert "panic never ran: nothing is in the log" in done.out
    assert (tmp_path / "b.csv").read_text() == "opcode,address,target\n"
