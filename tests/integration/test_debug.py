# SPDX-License-Identifier: GPL-2.0-or-later
"""`gdbext debug` with real QEMU and GDB: sessions, the terminal, and nobody left behind."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gdbext.recording.reader import Recording
from gdbext.target.ports import free_port
from tests.support.firmware import firmware_path
from tests.support.gdb_session import LOADER, gdb_batch, need_gdb
from tests.support.gdbext_cli import (
    Done,
    environment,
    forever_elf,
    gdbext,
    gdbext_command,
    qemu_processes,
)
from tests.support.qemus import QEMU_ROOTS, qemu_in

BOARD = ("--board", "mps2-an385")


@pytest.fixture(params=QEMU_ROOTS, ids=lambda root: Path(root).name or "own")
def qemu_root(request: pytest.FixtureRequest) -> str:
    """A folder of QEMUs; the test runs once for each."""
    root: str = request.param
    qemu_in(root, "qemu-system-arm")
    need_gdb()
    return root


@pytest.fixture
def forever(tmp_path: Path) -> Path:
    """A program that never ends."""
    return forever_elf(tmp_path)


def debug(
    runtime: Path, elf: Path, *commands: str, qemu_root: str = "", cwd: Path | None = None
) -> Done:
    """Run GDB commands in a `gdbext debug` session."""
    need_gdb()
    words = ["-nx", "-batch"]
    for command in commands:
        words += ["-ex", command]
    return gdbext(
        *("debug", elf, *BOARD, f"--gdb-args={shlex.join(words)}"),
        runtime=runtime,
        qemu_root=qemu_root,
        cwd=cwd,
    )


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def status_of(text: str) -> dict[str, object]:
    """The JSON object in a session's output."""
    found = re.search(r"^\{.*?^\}", text, re.MULTILINE | re.DOTALL)
    assert found, text
    fields: dict[str, object] = json.loads(found[0])
    return fields


def test_recording_between_two_breakpoints(tmp_path: Path, qemu_root: str) -> None:
    done = debug(
        tmp_path,
        firmware_path("basic", "mps2-an385", "O0"),
        "break main",
        "continue",
        "trace start",
        "delete",
        "break scan",
        "continue",
        "trace stop",
        "trace status --json",
        "trace dump t.rec",
        qemu_root=qemu_root,
        cwd=tmp_path,
    )

    assert done.status == 0, done.err
    assert "recording 1 vCPU" in done.out
    assert "recording stopped" in done.out
    status = status_of(done.out)
    assert status["schema"] == "gdbext/status/1"
    assert (status["state"], status["gaps"]) == ("stopped", 0)
    with Recording.open(tmp_path / "t.rec") as recording:
        assert recording.cut is None
        assert recording.end is not None
        assert recording.end[0].instructions == status["instructions"]
        assert recording.meta["board"] == "mps2-an385"
    assert qemu_processes(tmp_path) == []
    assert list((tmp_path / f"gdbext-{os.getuid()}").iterdir()) == []


def test_commands_work_while_the_guest_runs_in_the_background(
    tmp_path: Path, forever: Path, qemu_root: str
) -> None:
    done = debug(
        tmp_path,
        forever,
        "continue &",
        "trace start",
        "shell sleep 0.3",
        "trace status --json",
        "trace stop",
        "trace stop",
        "interrupt",
        "shell sleep 0.3",
        qemu_root=qemu_root,
    )

    status = status_of(done.out)
    assert status["state"] == "recording"
    assert int(str(status["instructions"])) > 0
    assert "recording stopped\nnot recording\n" in done.out


def test_stepping_records_what_was_stepped(tmp_path: Path, forever: Path, qemu_root: str) -> None:
    done = debug(
        tmp_path,
        forever,
        "stepi",
        "trace start",
        *["stepi"] * 6,
        "trace status --json",
        qemu_root=qemu_root,
    )

    assert status_of(done.out)["instructions"] == 6


def test_clear_forgets_and_goes_on(tmp_path: Path, forever: Path, qemu_root: str) -> None:
    done = debug(
        tmp_path,
        forever,
        "trace start",
        *["stepi"] * 9,
        "trace clear",
        *["stepi"] * 4,
        "trace status --json",
        qemu_root=qemu_root,
    )

    assert "cleared; recording goes on" in done.out
    assert status_of(done.out)["instructions"] == 4


def test_gdbs_exit_status_is_passed_on(tmp_path: Path, forever: Path) -> None:
    done = debug(tmp_path, forever, "quit 7")

    assert done.status == 7


def test_gdbinit_of_the_user_is_read(tmp_path: Path, forever: Path) -> None:
    need_gdb()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gdbinit").write_text("echo my own init\\n\n")
    done = subprocess.run(
        gdbext_command("debug", forever, *BOARD, "--gdb-args=-batch"),
        env={**environment(tmp_path), "HOME": str(tmp_path / "home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )

    assert b"my own init" in done.stdout


def test_qemu_that_cannot_start_is_one_line(tmp_path: Path, forever: Path) -> None:
    done = gdbext("debug", forever, *BOARD, "--", "-machine", "none-such", runtime=tmp_path)

    assert done.status == 1
    assert done.err.startswith("gdbext: qemu-system-arm ended with status 1: ")
    assert done.err.count("\n") == 1


def test_own_qemu_with_qemu_args_is_found_by_its_port(tmp_path: Path, forever: Path) -> None:
    qemu = qemu_in("", "qemu-system-arm")
    args = gdbext("qemu-args", runtime=tmp_path)
    assert args.err.splitlines()[0] == f"in GDB: source {LOADER}"
    port = free_port()
    words = ["-M", "mps2-an385", "-display", "none", "-monitor", "none", "-serial", "none"]
    words += ["-kernel", str(forever), "-S", "-gdb", f"tcp:127.0.0.1:{port}"]
    first = [str(qemu.path), *words, *shlex.split(args.out)]
    more = gdbext("qemu-args", runtime=tmp_path)
    second = [str(qemu.path), *words[:-1], f"tcp:127.0.0.1:{free_port()}", *shlex.split(more.out)]
    running, other = subprocess.Popen(first), subprocess.Popen(second)
    sessions = tmp_path / f"gdbext-{os.getuid()}"
    wait_until(lambda: len(list(sessions.glob("*/control"))) == 2)
    try:
        done = gdb_batch(
            f"target remote localhost:{port}",
            "trace start",
            "stepi",
            "stepi",
            "trace status",
            "trace status --json",
            runtime=tmp_path,
            elf=forever,
        )
    finally:
        running.kill()
        other.kill()
        running.wait()
        other.wait()

    assert f"QEMU process {running.pid}" in done.out, done.err
    assert status_of(done.out)["instructions"] == 2


class Terminal:
    """A terminal with a `gdbext debug` in its foreground."""

    def __init__(self, runtime: Path, *words: object) -> None:
        self.leader, terminal = pty.openpty()
        self.process = subprocess.Popen(
            ["setsid", "-c", "-w", *gdbext_command(*words)],
            env={**environment(runtime), "TERM": "dumb"},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        )
        os.close(terminal)
        self.seen = ""

    def expect(self, text: str) -> None:
        """Read until `text` has come; what was read before it is forgotten."""
        deadline = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < deadline, f"no {text!r} in {self.seen!r}"
            if select.select([self.leader], [], [], 0.1)[0]:
                self.seen += os.read(self.leader, 65536).decode(errors="replace")
        self.seen = self.seen.partition(text)[2]

    def type(self, text: str) -> None:
        os.write(self.leader, text.encode())

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.leader)


@pytest.fixture
def terminal(tmp_path: Path, forever: Path) -> Iterator[Terminal]:
    """A session at its first prompt."""
    need_gdb()
    opened = Terminal(tmp_path, "debug", forever, *BOARD, "--gdb-args=-nx")
    opened.expect("(gdb) ")
    yield opened
    opened.close()


def test_ctrl_c_stops_the_guest_and_ends_neither_qemu_nor_us(
    tmp_path: Path, terminal: Terminal
) -> None:
    qemu = qemu_processes(tmp_path)
    for _ in range(2):
        terminal.type("continue\n")
        terminal.expect("Continuing.")
        time.sleep(0.5)

        terminal.type("\x03")

        terminal.expect("received signal SIGINT")
        terminal.expect("(gdb) ")
    assert qemu_processes(tmp_path) == qemu
    terminal.type("quit\n")
    terminal.expect("Quit anyway? (y or n)")
    terminal.type("y\n")
    assert terminal.process.wait(60) == 0
    assert qemu_processes(tmp_path) == []


@pytest.mark.parametrize("who", ["gdb", "gdbext"])
def test_kill_9_leaves_no_qemu(tmp_path: Path, terminal: Terminal, who: str) -> None:
    assert qemu_processes(tmp_path)
    ours = child_of(terminal.process.pid)
    victim = ours if who == "gdbext" else gdb_of(ours)

    os.kill(victim, signal.SIGKILL)

    wait_until(lambda: qemu_processes(tmp_path) == [])


def child_of(pid: int) -> int:
    """The only child of a process; the process itself if it has none (setsid need not fork)."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    name = Path(f"/proc/{pid}/comm").read_text()
    return int(children[0]) if name.startswith("setsid") and children else pid


def gdb_of(pid: int) -> int:
    """The GDB that a `gdbext debug` started: the child that was given our loader."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if os.fsencode(LOADER) in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
            return int(child)
    raise AssertionError(f"no GDB below {pid}")
