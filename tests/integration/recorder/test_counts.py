# SPDX-License-Identifier: GPL-2.0-or-later
"""What the command line counts in a recording, compared with QEMU's log and the firmware itself."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gdbext.target.boards import Board, boards, load_board
from tests.support.firmware import counters, firmware_path
from tests.support.gdbext_cli import gdbext
from tests.support.qemu_runs import icount, skip_if_mixed_up
from tests.support.qemus import QEMU_ROOTS, qemu_in
from tests.truth.binutils import SizedFunction, functions
from tests.truth.insnlog import instruction_log

BOARDS = [board.name for board in boards()]

M_PROFILE = [name for name in BOARDS if load_board(name).cpu.startswith("cortex-m")]


@pytest.fixture(params=QEMU_ROOTS, ids=lambda root: Path(root).name or "own")
def qemu_root(request: pytest.FixtureRequest) -> str:
    """A folder of QEMUs; the test runs once for each."""
    root: str = request.param
    return root


def record(board: Board, elf: Path, qemu_root: str, tmp_path: Path) -> dict[str, int]:
    """Record a run to `t.rec` with the command line; the counters that the program printed."""
    skip_if_mixed_up(board, qemu_in(qemu_root, board.qemu))
    done = gdbext(
        *("record", elf, "--board", board.name, "-o", "t.rec", "--", *icount(board)),
        runtime=tmp_path,
        qemu_root=qemu_root,
        cwd=tmp_path,
    )
    assert done.status == 0, done.err
    return counters(done.out)


def analyze(tmp_path: Path, elf: Path, *words: str) -> dict[str, Any]:
    """The JSON of `gdbext analyze t.rec WORDS`."""
    done = gdbext(
        *("analyze", "t.rec", "--elf", elf, "--json", *words), runtime=tmp_path, cwd=tmp_path
    )
    assert done.status == 0, done.err
    answer: dict[str, Any] = json.loads(done.out)
    return answer


@pytest.mark.parametrize("variant", ["O0", "O2"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_totals_self_counts_and_calls(
    board_name: str, variant: str, qemu_root: str, tmp_path: Path
) -> None:
    board = load_board(board_name)
    elf = firmware_path("basic", board_name, variant)

    counted = record(board, elf, qemu_root, tmp_path)
    answer = analyze(tmp_path, elf)

    # How a PC's run ends differs from one run to the next: see test_sequence.py.
    if board.target != "x86_64":
        log = instruction_log(board, elf, icount(board), qemu_in(qemu_root, board.qemu))
        compare_with_log(answer, log, functions(elf, board.target))
    compare_with_counters(answer, counted, inlined=variant == "O2")


def compare_with_log(answer: dict[str, Any], log: array[int], truth: list[SizedFunction]) -> None:
    """Totals and self counts."""
    ran = Counter(log)
    ours = {function["address"]: function for function in answer["functions"]}
    assert answer["instructions"] == len(log)
    for function in truth:
        code = range(function.address, function.address + function.size_bytes)
        n = sum(ran[address] for address in code)
        if n or function.address in ours:  # nm also lists tables that lie among the code
            assert ours[function.address]["self_insns"] == n, function
            assert ours[function.address]["executed"] == (n > 0), function
    outside = sum(place["self_insns"] for place in answer["outside"])
    assert sum(function["self_insns"] for function in ours.values()) + outside == len(log)


def compare_with_counters(
    answer: dict[str, Any], counted: dict[str, int], *, inlined: bool
) -> None:
    """Calls and traps; a compiler that optimises may have inlined some of the functions."""
    calls = {function["name"]: function["calls"] for function in answer["functions"]}
    operations = [n for name, n in calls.items() if name.startswith("operation_")]
    assert len(operations) == 4
    assert sum(operations) == counted["indirect"]
    assert calls["tail_even"] + calls["tail_odd"] == counted["tail"]
    assert calls["round_trip"] == counted["iterations"]
    if not inlined:
        assert calls["fibonacci"] == counted["recursive"]
        assert calls["gx_timer_tick"] == counted["interrupts"]
        assert calls["board_supervisor_call"] == counted["svcs"]
        assert calls["board_software_interrupt"] == counted["pendsv"]
    traps = answer["repairs"]["traps"]
    assert traps == sum(counted[name] for name in ("interrupts", "pendsv", "svcs", "faults"))
    assert answer["gaps"]["count"] == 0
    assert answer["cut"] is None


@pytest.mark.parametrize(
    "board_name",
    [
        "mps2-an385",
        "microbit",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in M_PROFILE
            if name not in ("mps2-an385", "microbit")
        ),
    ],
)
def test_handlers_are_entered_by_trap_as_often_as_they_counted(
    board_name: str, qemu_root: str, tmp_path: Path
) -> None:
    board = load_board(board_name)
    elf = firmware_path("basic", board_name, "O2")
    timer = "TIMER0_IRQHandler" if board_name == "microbit" else "SysTick_Handler"

    counted = record(board, elf, qemu_root, tmp_path)

    for name, n in {
        timer: counted["interrupts"],
        "PendSV_Handler": counted["pendsv"],
        "SVC_Handler": counted["svcs"],
    }.items():
        entries = analyze(tmp_path, elf, f"--function={name}")["entries"]
        assert entries == {"call": 0, "tail": 0, "trap": n, "other": 0}, name
