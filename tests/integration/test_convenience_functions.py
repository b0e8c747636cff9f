# SPDX-License-Identifier: GPL-2.0-or-later
"""`$trace_calls("f")` and the others in GDB's expressions and conditions, on a live recording."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from gdbext.commands.context import open_workspace
from gdbext.target.boards import load_board
from tests.support.firmware import firmware_path
from tests.support.gdb_session import gdb_batch, need_gdb
from tests.support.gdbext_cli import Done, gdbext
from tests.support.qemu_runs import icount, record
from tests.support.qemus import qemu_in

# A handler, and what the program itself counts of it; AArch64 has one for both interrupts.
HANDLERS = {
    "mps2-an385": ("SysTick", "gx_counters.interrupts"),
    "virt-aarch64": ("vectors+0x280", "gx_counters.interrupts + gx_counters.pendsv"),
}


def debug(runtime: Path, board: str, variant: str, *commands: str) -> Done:
    """Run GDB commands in a `gdbext debug` session, each whether the last one failed or not."""
    need_gdb()
    qemu_in("", "qemu-system-aarch64" if "aarch64" in board else "qemu-system-arm")
    words = ["-nx", "-batch"]
    for command in commands:
        words += ["-ex", command]
    elf = firmware_path("basic", board, variant)
    arguments = ("debug", elf, "--board", board, f"--gdb-args={shlex.join(words)}")
    return gdbext(*arguments, runtime=runtime, cwd=runtime)


def numbers(done: Done, mark: str) -> list[list[str]]:
    """The words after MARK of each line that begins with it."""
    return [line.split()[1:] for line in done.out.splitlines() if line.split()[:1] == [mark]]


@pytest.mark.parametrize("board", HANDLERS)
def test_counts_are_those_that_the_program_keeps(tmp_path: Path, board: str) -> None:
    handler, counted_irqs = HANDLERS[board]
    done = debug(
        *(tmp_path, board, "O0"),
        "trace start",
        'break run_operations if $trace_calls("fibonacci") > 2000',
        "commands\nsilent\nend",
        *[
            "continue",
            'printf "CALLS %d %d\\n", $trace_calls("fibonacci"), gx_counters.recursive',
            'printf "ODD %d %d\\n", $trace_calls("tail_odd")+$trace_calls(tail_even), '
            "gx_counters.tail",
            f'printf "IRQS %d %d\\n", $trace_irqs("{handler}"), {counted_irqs}',
        ]
        * 3,
    )

    for mark in ("CALLS", "ODD", "IRQS"):
        pairs = numbers(done, mark)
        assert len(pairs) == 3, done.out + done.err
        assert all(ours == counted for ours, counted in pairs)
    calls = [int(ours) for ours, _ in numbers(done, "CALLS")]
    # fibonacci(7), (8) and (9) take 41, 67 and 109 calls: the first round beyond 2000.
    assert 2000 < calls[0] <= 2000 + 109
    assert calls[0] < calls[1] < calls[2]
    assert int(numbers(done, "IRQS")[-1][0]) > 0


def test_all_equal_the_analysis_of_the_file_saved_at_the_same_place(tmp_path: Path) -> None:
    asked = ("scan", "fibonacci", "Default_Handler", "mix")
    done = debug(
        *(tmp_path, "mps2-an385", "O0"),
        "trace start",
        "break mix if gx_counters.iterations == 3",
        "continue",
        *(f'printf "{f} %d %.9f\\n", $trace_calls("{f}"), $trace_covered("{f}")' for f in asked),
        'printf "INSNS %llu\\n", (unsigned long long) $trace_insns()',
        'printf "IRQS %d\\n", $trace_irqs("SVC_Handler")',
        "trace dump saved.rec",
    )
    elf = firmware_path("basic", "mps2-an385", "O0")
    words = ("saved.rec", "--elf", elf, "--json")
    reports = {
        f: json.loads(
            gdbext("analyze", *words, "--function", f, runtime=tmp_path, cwd=tmp_path).out
        )
        for f in asked
    }
    summary = json.loads(gdbext("analyze", *words, runtime=tmp_path, cwd=tmp_path).out)
    interrupts = json.loads(gdbext("interrupts", *words, runtime=tmp_path, cwd=tmp_path).out)

    for name, report in reports.items():
        ((calls, covered),) = numbers(done, name)
        insns = report["insns"]
        assert int(calls) == report["calls"]
        assert float(covered) == pytest.approx(100 * insns["executed"] / insns["total"])
    assert 0 < float(numbers(done, "scan")[0][1]) < 100
    assert numbers(done, "Default_Handler")[0] == ["0", "0.000000000"]
    assert int(numbers(done, "INSNS")[0][0]) == summary["instructions"]
    (svc,) = (h for h in interrupts["handlers"] if h["name"] == "SVC_Handler")
    assert int(numbers(done, "IRQS")[0][0]) == svc["count"] == 3


def test_each_step_counts(tmp_path: Path) -> None:
    done = debug(
        *(tmp_path, "mps2-an385", "O0"),
        "trace start",
        *['printf "INSNS %d\\n", $trace_insns()', "stepi"] * 5,
    )

    assert numbers(done, "INSNS") == [["0"], ["1"], ["2"], ["3"], ["4"]]


def test_clear_begins_again(tmp_path: Path) -> None:
    done = debug(
        *(tmp_path, "mps2-an385", "O0"),
        "trace start",
        "break run_operations",
        "continue",
        "trace clear",
        "set $before = gx_counters.recursive",
        "continue",
        'printf "CALLS %d %d\\n", $trace_calls("fibonacci"), gx_counters.recursive - $before',
    )

    ((ours, counted),) = numbers(done, "CALLS")
    assert ours == counted
    assert int(ours) > 0


ERRORS = [
    ('$trace_calls("fibonacc")', r"no function 'fibonacc' in \S+; did you mean fibonacci\?"),
    ("$trace_calls()", r'write \$trace_calls\("FUNCTION"\)'),
    ('$trace_covered("scan", 1)', r'write \$trace_covered\("FUNCTION"\)'),
    ("$trace_insns(1)", r"write \$trace_insns\(\)"),
    ("$trace_calls(1.5)", r"\$trace_calls: double is no name of a function; write .*"),
    ("$trace_irqs(gx_counters)", r"\$trace_irqs: volatile struct gx_counters is no name .*"),
    ('$trace_irqs("nothing")', r"no function 'nothing' in .*"),
    ('$trace_irqs("scan+0xzz")', r"'scan\+0xzz': '0xzz' is no offset"),
]


def test_wrong_arguments_are_one_line_each(tmp_path: Path) -> None:
    done = debug(
        *(tmp_path, "mps2-an385", "O0"),
        'print $trace_calls("scan")',
        "trace start",
        "stepi",
        *(f"print {expression}" for expression, _ in ERRORS),
    )

    said = [line for line in done.err.splitlines() if line and not line.startswith("gdbext:")]
    expected = [r"nothing is recorded yet: `trace start`, then let the program run"]
    expected += [message for _, message in ERRORS]
    assert len(said) == len(expected), said
    for line, message in zip(said, expected, strict=True):
        assert re.fullmatch(message, line)


def test_an_error_in_a_condition_stops_and_says_so(tmp_path: Path) -> None:
    done = debug(
        *(tmp_path, "mps2-an385", "O0"),
        "trace start",
        'break scan if $trace_calls("nothing") > 3',
        "continue",
        "print $pc == scan",
    )

    said = ("Error in testing breakpoint condition", "Error in testing condition for breakpoint 1")
    assert any(words in done.out + done.err for words in said)
    assert "no function 'nothing'" in done.out + done.err
    assert "Breakpoint 1, scan" in done.out


def test_without_a_recorder_one_line_says_how_to_start(tmp_path: Path) -> None:
    elf = firmware_path("basic", "mps2-an385", "O0")

    done = gdb_batch("print $trace_insns()", runtime=tmp_path, elf=elf)

    assert done.err.startswith("no QEMU with the recorder runs; start one with `gdbext debug ")
    assert done.err.count("\n") == 1


def test_help_has_gdbs_form(tmp_path: Path) -> None:
    done = gdb_batch("help function", "help function trace_insns", runtime=tmp_path)

    assert "function trace_covered -- Percentage of a function's instructions" in done.out
    assert "Usage: $trace_insns ()" in done.out


@pytest.mark.parametrize("board_name", HANDLERS)
def test_the_quick_numbers_equal_the_reports(tmp_path: Path, board_name: str) -> None:
    board = load_board(board_name)
    elf = firmware_path("basic", board_name, "O0")
    record(board, elf, qemu_in("", board.qemu), tmp_path / "live", icount(board))
    workspace = open_workspace(tmp_path / "live", elf)
    workspace.refresh()

    for function in workspace.symbols.functions:
        name = f"{function.address:#x}"
        report = workspace.function(name)
        assert workspace.counters.calls(name) == report.calls
        covered = 100 * report.insns_executed / report.insns_total if report.insns_total else 0
        assert workspace.counters.covered(name) == covered
    handlers = workspace.interrupts().handlers
    assert handlers
    for handler in handlers:
        for name in (handler.name, *handler.vectors):
            assert workspace.counters.irqs(name) == handler.count
    assert workspace.counters.instructions() == workspace.summary().instructions
