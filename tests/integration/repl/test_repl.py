# SPDX-License-Identifier: GPL-2.0-or-later
"""`gdbext repl` with real QEMU and GDB: in a pseudo-terminal, and with lines from a pipe."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.firmware import firmware_path
from tests.support.gdb_session import need_gdb
from tests.support.gdbext_cli import (
    Done,
    environment,
    forever_elf,
    gdbext_command,
    qemu_processes,
)
from tests.support.qemus import qemu_in
from tests.support.terminal import CTRL_C, CTRL_D, ENTER, TAB, Terminal

BOARD = ("--board", "mps2-an385")
OpenRepl = Callable[[Path], Terminal]


@pytest.fixture(autouse=True)
def _tools() -> None:
    need_gdb()
    qemu_in("", "qemu-system-arm")


@pytest.fixture
def open_repl(tmp_path: Path) -> OpenRepl:
    """Start a REPL on a program in a terminal, without the user's own files."""

    def start(elf: Path) -> Terminal:
        variables = {**environment(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
        return Terminal(gdbext_command("repl", elf, *BOARD, "--gdb-args=-nx"), variables)

    return start


def gdb_of(runtime: Path) -> int:
    """The process of the GDB that works for the REPL with this runtime directory."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            variables = (process / "environ").read_bytes()
        except OSError:
            continue
        if b"--interpreter=mi3" in words and os.fsencode(runtime) in variables:
            return int(process.name)
    raise AssertionError("no GDB")


def children_left(runtime: Path) -> list[Path]:
    """Live directories that are still there."""
    return list(runtime.glob(f"gdbext-{os.getuid()}/*"))


def test_conversation_in_a_terminal(open_repl: OpenRepl, tmp_path: Path) -> None:
    with open_repl(firmware_path("demo", "mps2-an385")) as terminal:
        terminal.wait_for("stopped in Reset_Handler at arch/cortexm/startup.c:54 | not recording")
        terminal.type("trace anal" + TAB)
        terminal.wait_for("(gdbext) trace analyze")
        terminal.type(CTRL_C)
        terminal.type("break message_po" + TAB)
        terminal.wait_for("(gdbext) break message_post")
        terminal.type(ENTER)
        terminal.wait_for("Breakpoint 1 at")
        terminal.line("trace start")
        terminal.wait_for("recording 1 vCPU")
        terminal.wait_for("| recording: ")

        # A stop in the background comes above the prompt.
        terminal.line("continue &")
        terminal.wait_for("Breakpoint 1, message_post")
        terminal.wait_for("stopped in message_post at demo/main.c")
        terminal.wait_for("target| station: ready\n")

        terminal.resize(70)
        terminal.line("delete")
        terminal.line("define twice")
        terminal.line("print $arg0 * 2")
        terminal.line("end")
        terminal.line("twice 21")
        terminal.wait_for("$1 = 42")
        terminal.paste("print 1000\nprint 2000\n")
        terminal.type(ENTER)
        terminal.wait_for("$3 = 2000")
        terminal.line("!echo $((6 * 7)) in a shell")
        terminal.wait_for("42 in a shell")
        terminal.line("print nosuch")
        terminal.wait_for('No symbol "nosuch" in current context.')

        terminal.line("continue")
        terminal.wait_for("[Inferior 1 (process 1) exited normally]")
        terminal.wait_for("the program has ended with status 0 |")
        terminal.line("trace callers free")
        terminal.wait_for("called 27,000 times")
        terminal.line("quit 3")
        assert terminal.wait_end() == 3

    assert "+twice 21\n" in (tmp_path / "state" / "gdbext" / "history").read_text()
    assert (qemu_processes(tmp_path), children_left(tmp_path)) == ([], [])


def test_ctrl_c_stops_what_runs(open_repl: OpenRepl, tmp_path: Path) -> None:
    with open_repl(forever_elf(tmp_path)) as terminal:
        terminal.wait_for("not recording")
        terminal.line("continue")
        terminal.wait_for("Continuing.")
        terminal.type(CTRL_C)
        terminal.wait_for("Program received signal SIGINT")

        terminal.line("continue &")
        terminal.wait_for("running | ")
        terminal.type(CTRL_C)
        terminal.wait_for("Program received signal SIGINT", 2)

        # A script of many steps.
        terminal.line("while 1")
        terminal.line("stepi")
        terminal.line("end")
        terminal.wait_for("in count ()", 4)
        terminal.type(CTRL_C)
        terminal.line("print 40 + 2")
        terminal.wait_for("= 42")

        # Twice quickly: back at the prompt, whatever runs.
        terminal.line("python import signal; signal.pthread_sigmask(0, [2])")
        terminal.line("python import time; print('deaf'); time.sleep(600)")
        terminal.wait_for("\ndeaf")
        terminal.type(CTRL_C)
        terminal.wait_for("deaf\n^C")
        terminal.type(CTRL_C)
        terminal.wait_for("not waited for any longer; the program may still run\n(gdbext)")
        terminal.type(CTRL_D)
        assert terminal.wait_end() == 0

    assert (qemu_processes(tmp_path), children_left(tmp_path)) == ([], [])


def test_killed_gdb_and_qemu_are_told_and_started_again(
    open_repl: OpenRepl, tmp_path: Path
) -> None:
    with open_repl(forever_elf(tmp_path)) as terminal:
        terminal.wait_for("not recording")
        terminal.line("break count if $r0 == 7")
        terminal.wait_for("Breakpoint 1 at")

        os.kill(gdb_of(tmp_path), 9)
        terminal.wait_for("was ended by signal 9; `restart` starts it again, breakpoints kept")
        terminal.wait_for("GDB has ended: `restart` |")
        terminal.line("restart")
        terminal.wait_for("started again; 1 breakpoint")
        terminal.line("continue")
        terminal.wait_for("Breakpoint 1, ")
        terminal.line("print $r0")
        terminal.wait_for("$1 = 7")

        [qemu] = qemu_processes(tmp_path)
        os.kill(qemu, 9)
        terminal.wait_for("ended by signal 9: it said nothing; `restart` starts it again")
        terminal.line("continue")
        terminal.wait_for("ended by signal 9: it said nothing", 2)
        terminal.line("restart")
        terminal.wait_for("started again; 1 breakpoint", 2)
        terminal.line("continue")
        terminal.wait_for("Breakpoint 1, ", 2)
        terminal.line("q")
        assert terminal.wait_end() == 0

    assert (qemu_processes(tmp_path), children_left(tmp_path)) == ([], [])


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_closed_terminal_leaves_nothing_behind(
    number: int, open_repl: OpenRepl, tmp_path: Path
) -> None:
    with open_repl(forever_elf(tmp_path)) as terminal:
        terminal.wait_for("not recording")
        if number == signal.SIGTERM:
            terminal.line("continue")
            terminal.wait_for("Continuing.")
        os.kill(terminal.pid, number)
        assert terminal.wait_end() == 128 + number

    assert (qemu_processes(tmp_path), children_left(tmp_path)) == ([], [])


def batch(tmp_path: Path, elf: Path, lines: str, *words: object) -> Done:
    """A REPL whose lines come from a pipe."""
    done = subprocess.run(
        gdbext_command("repl", elf, *BOARD, "--gdb-args=-nx", *words),
        input=lines,
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert (qemu_processes(tmp_path), children_left(tmp_path)) == ([], [])
    return Done(done.returncode, done.stdout, done.stderr)


def test_lines_from_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "more.gdb").write_text(
        "# a comment\nif 1\nprint 40 + 2\nend\n!echo from the shell\n"
    )

    done = batch(
        tmp_path,
        firmware_path("demo", "mps2-an385"),
        "trace start\ncontinue\nsource more.gdb\ntrace callers malloc\nquit 5\nprint 1\n",
        *("--console", "console.txt"),
    )

    assert (done.status, done.err) == (5, "")
    assert "$1 = 42\nfrom the shell\nmalloc at " in done.out
    assert "called 27,000 times" in done.out
    assert "target|" not in done.out
    assert (tmp_path / "console.txt").read_text().startswith("station: ready\nround 250: ")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("print 1\nprint nosuch\nprint 2\n", 'standard input:2: No symbol "nosuch" in current'),
        ("source no.gdb\n", "standard input:1: no.gdb: cannot be read: No such file"),
        ("source bad.gdb\n", 'standard input:1: bad.gdb:2: No symbol "nosuch" in current'),
        ("define f\nprint 1\n", "standard input:1: a block has no `end`"),
        ("!exit 3\n", "standard input:1: !exit 3: exit status 3"),
        ("continue\ncontinue\n", "standard input:2: the program has ended with status 0; start"),
    ],
)
def test_a_line_that_fails_ends_the_batch(lines: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "bad.gdb").write_text("print 1\nprint nosuch\n")

    done = batch(tmp_path, firmware_path("basic", "mps2-an385", "O2"), lines)

    assert done.status == 1
    assert done.err.startswith(f"gdbext: {told}")
    assert done.err.count("\n") == 1
    assert "$2 = 2" not in done.out
