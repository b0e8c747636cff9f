# SPDX-License-Identifier: GPL-2.0-or-later
"""`trace stop-on`: QEMU stops in GDB at the condition, and the program's own counters agree."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gdbext.errors import ControlError
from gdbext.target.boards import load_board
from gdbext.target.control import ControlClient
from tests.support.firmware import firmware_path
from tests.support.gdb_session import need_gdb
from tests.support.gdbext_cli import Done, gdbext, qemu_processes
from tests.support.mi_session import debug_session, soon
from tests.support.qemu_runs import icount, running, wait_until
from tests.support.qemus import QEMU_ROOTS, qemu_in
from tests.truth.binutils import symbols

BOARD = "mps2-an385"


def debug(runtime: Path, board: str, elf: Path, *commands: str, qemu_root: str = "") -> Done:
    """Run GDB commands in a `gdbext debug` session; each is echoed."""
    need_gdb()
    qemu_in(qemu_root, load_board(board).qemu)
    words = ["-nx", "-batch"]
    for command in commands:
        words += ["-ex", command]
    return gdbext(
        *("debug", elf, "--board", board, f"--gdb-args={shlex.join(words)}"),
        runtime=runtime,
        qemu_root=qemu_root,
        cwd=runtime,
    )


def values(done: Done, mark: str) -> list[list[int]]:
    """The numbers after MARK of each line that begins with it."""
    lines = [line.split() for line in done.out.splitlines()]
    return [[int(word) for word in words[1:]] for words in lines if words[:1] == [mark]]


def more(done: Done) -> list[int]:
    """How far beyond each stop was."""
    found = re.findall(r"^stop-on: .*; ([\d,]+) more instructions ran", done.out, re.MULTILINE)
    return [int(number.replace(",", "")) for number in found]


@pytest.mark.parametrize("qemu_root", QEMU_ROOTS, ids=lambda root: Path(root).name or "own")
def test_the_nth_call_stops_where_the_program_has_counted_n(tmp_path: Path, qemu_root: str) -> None:
    elf = firmware_path("basic", BOARD, "O0")
    done = debug(
        *(tmp_path, BOARD, elf),
        "trace start",
        "trace stop-on insn fibonacci --count 1000",
        "continue",
        'printf "CALLS %d %d\\n", $trace_calls("fibonacci"), gx_counters.recursive',
        "trace stop-on insn fibonacci --count 5",
        "continue",
        'printf "CALLS %d %d\\n", $trace_calls("fibonacci"), gx_counters.recursive',
        "trace last 40",
        "continue",
        qemu_root=qemu_root,
    )

    assert "stop-on: fibonacci is executed 1,000 times;" in done.out, done.out + done.err
    assert done.out.count("Program received signal SIGINT") == 2
    # The counter is incremented in the function's first block, which runs to its end.
    assert values(done, "CALLS") == [[1000, 1000], [1005, 1005]]
    overshoots = more(done)
    assert len(overshoots) == 2
    assert max(overshoots) < 30
    tail = done.out[done.out.rindex("CALLS") :]
    entry = symbols(elf, "arm")["fibonacci"]
    rows = [line.strip() for line in tail.splitlines() if line.strip().startswith("0x")]
    assert rows[overshoots[1]].startswith(f"0x{entry:08x}")
    assert "exited normally" in done.out
    assert qemu_processes(tmp_path) == []


@pytest.mark.parametrize("board", ["virt-aarch64", "virt-rv64"])
def test_other_machines_stop_too(tmp_path: Path, board: str) -> None:
    done = debug(
        *(tmp_path, board, firmware_path("basic", board, "O0")),
        "trace start",
        "trace stop-on insn scan --count 7",
        "continue",
        'printf "ROUNDS %d %d\\n", gx_counters.iterations, $trace_calls("scan")',
    )

    # scan runs once a round: its seventh time is in the round after six.
    assert values(done, "ROUNDS") == [[6, 7]], done.out + done.err


def test_an_instruction_inside_a_block_is_counted_when_it_is_executed(tmp_path: Path) -> None:
    elf = firmware_path("basic", BOARD, "O0")
    inside = symbols(elf, "arm")["fibonacci"] + 8
    done = debug(
        *(tmp_path, BOARD, elf),
        "trace start",
        f"trace stop-on insn {inside:#x} --count 300",
        "continue",
        'printf "CALLS %d\\n", gx_counters.recursive',
    )

    assert values(done, "CALLS") == [[300]], done.out + done.err


def test_new_stops_in_a_function_that_never_ran(tmp_path: Path) -> None:
    done = debug(
        *(tmp_path, BOARD, firmware_path("basic", BOARD, "O0")),
        "trace start",
        "break scan",
        "continue",
        "delete",
        'printf "BEFORE %d\\n", $trace_calls("scan")',
        "trace stop-on new",
        "continue",
        'printf "AFTER %d %d\\n", $trace_calls("scan"), $trace_calls("mix")',
    )

    assert values(done, "BEFORE") == [[0]]
    found = re.search(r"^stop-on: a function runs that has not run yet: (\w+);", done.out, re.M)
    assert found is not None, done.out + done.err
    # The one that stands at its first instruction, or the handler of an interrupt just then.
    assert found[1] in ("scan", "SysTick_Handler")
    assert values(done, "AFTER") == [[int(found[1] == "scan"), 0]]


def test_fault_stops_at_the_handler_with_what_led_to_it(tmp_path: Path) -> None:
    done = debug(
        *(tmp_path, BOARD, firmware_path("midblock", BOARD)),
        "trace start",
        "trace stop-on fault",
        "continue",
        "trace last 40 --call",
        'printf "FAULTS %d\\n", gx_counters.faults',
        "continue",
    )

    assert re.search(r"^stop-on: a fault's handler begins: \w+; ", done.out, re.M), done.out
    assert values(done, "FAULTS")[0][0] <= 1
    assert "exception" in done.out


def test_off_and_ctrl_c_and_breakpoints_leave_the_program_running(tmp_path: Path) -> None:
    done = debug(
        *(tmp_path, BOARD, firmware_path("basic", BOARD, "O0")),
        "trace start",
        "trace stop-on insn fibonacci --count 100",
        "break scan",
        "continue",
        "delete",
        "trace stop-on off",
        "continue",
    )

    assert "no stop condition" in done.out
    assert "stop-on:" not in done.out
    assert "exited normally" in done.out


def test_below_a_front_end_the_stop_is_a_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elf = firmware_path("basic", BOARD, "O0")
    with debug_session(elf, BOARD, monkeypatch, tmp_path, trace_commands=True) as (session, heard):
        session.debugger.console("trace start")
        session.debugger.console("trace stop-on insn mix --count 3")
        session.resume("continue")
        stop = session.wait_stop(soon())
        assert stop is not None and not stop.has_ended

        assert session.debugger.evaluate('$trace_calls("mix")') == "3"
        assert session.debugger.evaluate("gx_counters.iterations") == "2"
    assert "stop-on: mix is executed 3 times" in heard.text


ERRORS = [
    ("trace stop-on insn", "stop-on: write insn LOC [--count N], new, fault or off"),
    ("trace stop-on new --count 3", "stop-on: write insn LOC [--count N], new, fault or off"),
    ("trace stop-on insn fibonacc", "'fibonacc' is no function; did you mean fibonacci?"),
    ("trace stop-on insn 0xzz", "'0xzz' is no address"),
    ("trace stop-on insn scan", "a stop condition needs a recording: start one first"),
    ("trace stop-on new", "nothing is recorded yet: `trace start`, then let the program run"),
]


def test_errors_are_one_line_each(tmp_path: Path) -> None:
    done = debug(
        *(tmp_path, BOARD, firmware_path("basic", BOARD, "O0")),
        *(command for command, _ in ERRORS),
    )

    said = [line for line in done.err.splitlines() if line and not line.startswith("QEMU")]
    assert len(said) == len(ERRORS), said
    for line, (_, message) in zip(said, ERRORS, strict=True):
        assert line.endswith(message)


def test_no_fault_table_is_said(tmp_path: Path) -> None:
    board = "virt-rv64"
    done = debug(
        *(tmp_path, board, firmware_path("basic", board, "O0")),
        "trace start",
        "trace stop-on fault",
    )

    assert "has no vector table of Cortex-M; name the fault's handler" in done.err


def test_the_recorder_refuses_nonsense_and_lets_go_when_told(tmp_path: Path) -> None:
    board = load_board(BOARD)
    elf = firmware_path("basic", BOARD, "O0")
    live = tmp_path / "live"
    with running(board, elf, qemu_in("", board.qemu), live, icount(board), gdb=True) as run:
        wait_until(run.gdb.exists, "the GDB stub")
        refuse_and_release(ControlClient(live))


def refuse_and_release(control: ControlClient) -> None:
    """On a machine that stands at its first instruction."""
    with control as client:
        client.start()
        for text in ("", "add", "add xyz", "set 1", "nonsense"):
            with pytest.raises(ControlError, match="stop-on"):
                client.stop_on(text)
        client.stop_on("add 100,200")
        for text in ("set 0", "set 1x"):
            with pytest.raises(ControlError, match="stop-on set: needs addresses, and a count"):
                client.stop_on(text)
        client.stop_on("set 1")
        assert client.stop_on("status").flag("set")
        client.stop_on("release")
        assert not client.stop_on("off").flag("set")
