# SPDX-License-Identifier: GPL-2.0-or-later
"""GDB below a graphical front end (MI in pipes and in a terminal), and in TUI mode."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pexpect
import pytest

from gdbext.errors import DebuggerError
from gdbext.target.boards import load_board
from tests.support.firmware import firmware_path
from tests.support.gdb_session import LOADER, need_gdb
from tests.support.gdbext_cli import ROOT, environment, gdbext_command
from tests.support.mi_session import debug_session, soon
from tests.support.qemu_runs import icount, running, wait_until
from tests.support.qemus import qemu_in
from tests.support.terminal import Terminal

BOARD = "mps2-an385"
QUESTIONS = [
    "trace status",
    "trace analyze",
    "trace analyze --function scan",
    "trace callers fibonacci",
    "trace callees main",
    "trace profile",
    "trace tree",
    "trace interrupts",
    "trace tasks",
    "trace timeline",
    "trace coverage",
    "trace branches",
    "trace list scan",
    "trace last 30",
    "help trace",
]
MOST_LINES = 130


def test_commands_answer_through_the_console_interpreter_on_a_small_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elf = firmware_path("basic", BOARD, "O0")
    with debug_session(elf, BOARD, monkeypatch, tmp_path, trace_commands=True) as (session, _):
        console = session.debugger.console
        console("set pagination on")
        console("set height 4")
        console("set width 60")
        assert console("trace start") == "recording 1 vCPU\n"
        console('break mix if $trace_calls("scan") > 20')
        session.resume("continue")
        stop = session.wait_stop(soon())
        assert stop is not None and stop.function == "mix"

        assert session.debugger.evaluate('$trace_calls("scan")') == "21"
        for question in QUESTIONS:
            answer = console(question)
            assert "<RET>" not in answer
            assert 1 <= answer.count("\n") <= MOST_LINES, question
            assert "\x1b" not in answer
        with pytest.raises(DebuggerError, match=r"no function 'fibonacc' in .*; did you mean"):
            console("trace callers fibonacc")
        with pytest.raises(DebuggerError, match=r"no function 'fibonacc' in .*; did you mean"):
            session.debugger.evaluate('$trace_calls("fibonacc")')


def launches() -> list[dict[str, Any]]:
    """The configurations of launch.json, as docs/editors.md has it."""
    blocks = re.findall(r"```json\n(.*?)```", (ROOT / "docs" / "editors.md").read_text(), re.DOTALL)
    (task,) = json.loads(blocks[0])["tasks"]
    configurations: list[dict[str, Any]] = json.loads(blocks[1])["configurations"]
    assert all(each["preLaunchTask"] == task["label"] for each in configurations)
    return configurations


def commands_of(configuration: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What the extension has GDB do before and after it connects."""
    if configuration["type"] == "cortex-debug":
        return configuration["preAttachCommands"], configuration["postAttachCommands"]
    before, after = configuration["setupCommands"], configuration["postRemoteConnectCommands"]
    return [each["text"] for each in before], [each["text"] for each in after]


@pytest.mark.parametrize("configuration", launches(), ids=lambda each: str(each["type"]))
def test_mi_in_a_terminal_never_waits_for_a_key(
    tmp_path: Path, configuration: dict[str, Any]
) -> None:
    before, after = commands_of(configuration)
    board = load_board(BOARD)
    elf = firmware_path("basic", BOARD, "O0")
    live = tmp_path / "live"
    with running(board, elf, qemu_in("", board.qemu), live, icount(board), gdb=True) as run:
        wait_until(run.gdb.exists, "the GDB stub")
        gdb = pexpect.spawn(
            need_gdb(),
            ["-nx", "-q", "--interpreter=mi3", str(elf)],
            env=environment(tmp_path),
            dimensions=(10, 60),
            timeout=60,
            echo=False,
            encoding="utf-8",
        )

        def ask(command: str) -> str:
            """Everything up to the result, which must be no error."""
            gdb.sendline(command)
            gdb.expect(r"\d+\^(done|running|connected|error)[^\r\n]*\r\n")
            assert gdb.match[1] != "error", gdb.match[0]
            return str(gdb.before)

        for command in before:
            ask(f'1-interpreter-exec console "{command.replace("LOADER", str(LOADER))}"')
        ask(f'2-interpreter-exec console "set gdbext control {live}/control"')
        ask(f"3-target-select remote {run.gdb}")
        for command in after:
            ask(f'4-interpreter-exec console "{command}"')
        ask("5-break-insert run_operations")
        ask("6-exec-continue")
        gdb.expect(r'\*stopped,reason="breakpoint-hit"')
        answer = ask('7-interpreter-exec console "trace analyze --top 40"')
        numbers = ask('8-data-evaluate-expression "$trace_insns()"') + str(gdb.match[0])
        gdb.close(force=True)

    lines = re.findall(r'^~"(.*)\\n"\r?$', answer, re.MULTILINE)
    assert "instructions in" in lines[0]
    assert any("fibonacci" in line for line in lines)
    total = int(lines[0].split()[0].replace(",", ""))
    assert f'value="{total}"' in numbers


def test_tui_mode_shows_source_and_answers(tmp_path: Path) -> None:
    need_gdb()
    qemu_in("", "qemu-system-arm")
    elf = firmware_path("basic", BOARD, "O0")
    command = gdbext_command("debug", elf, "--board", BOARD, "--gdb-args=-nx -tui")
    with Terminal(command, environment(tmp_path)) as terminal:
        terminal.wait_for("startup.c")
        terminal.line("set pagination off")
        terminal.line("trace start")
        terminal.wait_for("recording 1 vCPU")
        terminal.line('break mix if $trace_calls("scan") > 20')
        terminal.wait_for("Breakpoint 1 at")
        terminal.line("continue")
        terminal.wait_for("Breakpoint 1, mix")
        terminal.line("trace callers scan")
        terminal.wait_for("called 21 times")
        assert "basic.c" in terminal.text
        terminal.line("tui disable")
        terminal.line("trace last 2")
        terminal.wait_for("round_trip")
        terminal.line("kill")
        terminal.line("y")
        terminal.line("quit")
