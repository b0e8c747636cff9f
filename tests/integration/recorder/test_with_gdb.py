# SPDX-License-Identifier: GPL-2.0-or-later
"""GDB stops, steps, watches and resets the machine: nothing is lost and nothing counted twice."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gdbext.target.boards import load_board
from gdbext.target.qemu_binary import QemuBinary
from tests.support.firmware import counters, firmware_path
from tests.support.gdb_session import gdb_batch
from tests.support.gdbext_cli import gdbext
from tests.support.qemu_runs import icount, record, running, wait_until

FindQemu = Callable[[str], QemuBinary]

BOARDS = pytest.mark.parametrize(
    "board_name", ["mps2-an385", "vexpress-a9", "virt-aarch64", "virt-rv64", "q35-x86_64"]
)

# Functions whose work does not depend on when interrupts come.
STEADY = [
    *("round_trip", "fibonacci", "run_operations", "tail_even", "tail_odd", "scan", "mix"),
    *("operation_add", "operation_subtract", "operation_xor", "operation_rotate", "main"),
]

Counts = dict[str, tuple[int, int]]
"""By function: calls and self instructions."""


def with_gdb(
    board_name: str, find_qemu: FindQemu, tmp_path: Path, *commands: str
) -> tuple[str, dict[str, int], Counts]:
    """Run `basic` under GDB, all recorded: GDB's output, the printed counters, the counts."""
    board = load_board(board_name)
    elf = firmware_path("basic", board_name, "O0")
    live = tmp_path / "live"
    with running(board, elf, find_qemu(board.qemu), live, icount(board), gdb=True) as run:
        wait_until(run.gdb.exists, "the GDB stub")
        done = gdb_batch(
            *("set confirm off", f"target remote {run.gdb}", *commands),
            runtime=tmp_path,
            elf=elf,
            load=False,
        )
        try:
            status = run.wait()
        except subprocess.TimeoutExpired:
            pytest.fail(f"QEMU goes on after GDB: {done.out}{done.err}{stacks(run.process.pid)}")
    assert status == 0, done.out + done.err
    return done.out, counters(run.text()), counts(live, elf, tmp_path)


def stacks(pid: int) -> str:
    """What each thread of a hanging QEMU does."""
    words = ["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "thread apply all bt 15"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def without_gdb(board_name: str, find_qemu: FindQemu, tmp_path: Path) -> Counts:
    """The counts of an undisturbed run."""
    board = load_board(board_name)
    elf = firmware_path("basic", board_name, "O0")
    record(board, elf, find_qemu(board.qemu), tmp_path / "plain", icount(board))
    return counts(tmp_path / "plain", elf, tmp_path)


def counts(recording: Path, elf: Path, runtime: Path) -> Counts:
    """What `gdbext analyze` counts."""
    done = gdbext("analyze", recording, "--elf", elf, "--json", runtime=runtime)
    assert done.status == 0, done.err
    answer = json.loads(done.out)
    assert answer["gaps"]["count"] == 0
    return {f["name"]: (f["calls"], f["self_insns"]) for f in answer["functions"]}


def compare(ours: Counts, plain: Counts, counted: dict[str, int]) -> None:
    """The same work as without GDB, and the calls that the firmware counted."""
    assert {name: ours[name] for name in STEADY} == {name: plain[name] for name in STEADY}
    assert ours["round_trip"][0] == counted["iterations"]
    compare_calls(ours, counted)


def compare_calls(ours: Counts, counted: dict[str, int]) -> None:
    """Calls as the firmware counted them."""
    assert ours["fibonacci"][0] == counted["recursive"]
    assert ours["tail_even"][0] + ours["tail_odd"][0] == counted["tail"]
    assert ours["gx_timer_tick"][0] == counted["interrupts"]
    assert ours["board_supervisor_call"][0] == counted["svcs"]
    operations = [n for name, (n, _) in ours.items() if name.startswith("operation_")]
    assert sum(operations) == counted["indirect"]


@BOARDS
def test_breakpoints_and_steps_change_no_count(
    board_name: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    out, counted, ours = with_gdb(
        *(board_name, find_qemu, tmp_path),
        *("break scan", "break operation_xor", "break gx_timer_tick"),
        *["continue"] * 40,
        *["stepi"] * 25,
        *["next"] * 5,
        *["step"] * 5,
        "delete",
        "break mix",
        "continue",
        "finish",
        "delete",
        "continue",
    )

    assert out.count("Breakpoint") >= 40
    compare(ours, without_gdb(board_name, find_qemu, tmp_path), counted)


@BOARDS
def test_watchpoints_count_no_instruction_twice(
    board_name: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    out, counted, ours = with_gdb(
        *(board_name, find_qemu, tmp_path),
        "break main",
        "continue",
        "watch gx_counters.iterations",
        "watch gx_counters.tail",
        "rwatch gx_counters.svcs",
        *["continue"] * 60,
        "delete",
        "continue",
    )

    assert len(re.findall(r"[Hh]ardware (read )?watchpoint \d+: gx_counters", out)) > 60
    plain = without_gdb(board_name, find_qemu, tmp_path)
    if board_name == "virt-rv64":
        # An interrupt comes between the access and its repetition, which counts then.
        ours.update({name: plain[name] for name in ("round_trip", "tail_even", "tail_odd")})
    compare(ours, plain, counted)


@BOARDS
def test_reset_in_the_middle_keeps_both_parts(
    board_name: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    if board_name == "q35-x86_64":
        pytest.skip("the board ends at a reset (-no-reboot)")
    out, counted, ours = with_gdb(
        *(board_name, find_qemu, tmp_path),
        "break scan",
        *["continue"] * 10,
        "print gx_counters",
        "monitor system_reset",
        *["continue"] * 5,
        "delete",
        "continue",
    )

    found = re.search(r"\$1 = \{(.*?)\}", out, re.DOTALL)
    assert found, out
    before = {name: int(n) for name, n in re.findall(r"(\w+) = (\d+)", found[1])}
    assert before["iterations"] == 9
    compare_calls(ours, {name: n + before[name] for name, n in counted.items()})
    assert ours["main"][0] == 2
    # Nine rounds and what of the tenth came before the reset, then all.
    assert ours["round_trip"][0] == 10 + counted["iterations"]
