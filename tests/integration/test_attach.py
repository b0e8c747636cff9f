# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU that somebody else started: `--attach` of debug and repl, and the key of sessions."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gdbext.target.ports import free_port, is_listening
from tests.support.firmware import firmware_path
from tests.support.gdb_session import need_gdb
from tests.support.gdbext_cli import Done, environment, gdbext, gdbext_command
from tests.support.qemu_runs import wait_until
from tests.support.qemus import qemu_in


@contextmanager
def served(elf: Path, runtime: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A QEMU that a user started, halted, with the words of `qemu-args`; and its GDB port."""
    qemu = qemu_in("", "qemu-system-arm")
    live = runtime / "live"
    if not live.exists():
        live.mkdir(mode=0o700)
    words = gdbext("qemu-args", "--qemu", qemu.path, "--dir", live, runtime=runtime)
    assert words.status == 0, words.err
    port = free_port()
    command = [str(qemu.path), *qemu.arguments, "-M", "mps2-an385", "-display", "none"]
    command += ["-monitor", "none", "-serial", "none", "-semihosting", "-kernel", str(elf), "-S"]
    command += ["-gdb", f"tcp:127.0.0.1:{port}", *words.out.split()]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**environment(runtime), **qemu.environment},
    )
    try:
        wait_until(lambda: (live / "control").exists() and is_listening(port), "QEMU's GDB stub")
        yield process, port
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def elf() -> Path:
    need_gdb()
    return firmware_path("demo", "mps2-an385")


def run(runtime: Path, *words: object, lines: str = "") -> Done:
    done = subprocess.run(
        gdbext_command(*words),
        env=environment(runtime),
        cwd=runtime,
        input=lines.encode(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_debug_then_repl_then_a_session_on_the_same_qemu(elf: Path, tmp_path: Path) -> None:
    with served(elf, tmp_path) as (qemu, port):
        control = tmp_path / "live" / "control"
        debugged = run(
            *(tmp_path, "debug", elf, "--attach", f"localhost:{port}", "--control", control),
            *("--gdb", "-nx", "-batch", "-ex", "trace start", "-ex", "break malloc"),
            *("-ex", "continue", "-ex", "disconnect"),
        )
        assert "Breakpoint 1, malloc" in debugged.out, debugged.err
        assert qemu.poll() is None

        lines = "delete\nbreak free\ncontinue\ntrace callers malloc\ndisconnect\n"
        prompted = run(
            *(tmp_path, "repl", elf, "--attach", f":{port}", "--control", tmp_path / "live"),
            lines=lines,
        )
        assert "Breakpoint 1, free" in prompted.out, prompted.err
        assert qemu.poll() is None

        (tmp_path / "s.yaml").write_text(
            f"firmware: {elf}\nattach: 127.0.0.1:{port}\ncontrol: live\nsteps:\n"
            "  - run-until: {function: message_work}\n"
            "  - expect: calls(malloc) > 0 and value('ticks') >= 0\n"
        )
        scripted = run(tmp_path, "run", "s.yaml")
        assert (scripted.status, scripted.err) == (0, ""), scripted.out
        # It was let go: the program runs to its end without a debugger.
        assert qemu.wait(60) == 0


def test_the_recorder_of_that_port_is_found(elf: Path, tmp_path: Path) -> None:
    live = tmp_path / f"gdbext-{os.getuid()}" / "mine"
    live.mkdir(parents=True, mode=0o700)
    (tmp_path / "live").symlink_to(live)
    with served(elf, tmp_path) as (_, port):
        done = run(
            *(tmp_path, "debug", elf, "--attach", port, "--gdb", "-nx", "-batch"),
            *("-ex", "trace status", "-ex", "disconnect"),
        )

    assert "stopped" in done.out or "not recording" in done.out, done.out + done.err


def test_qemu_that_ends_while_attached_is_told(elf: Path, tmp_path: Path) -> None:
    with served(elf, tmp_path) as (qemu, port):
        words = f"firmware: {elf}\nattach: 127.0.0.1:{port}\ncontrol: live\n"
        steps = f"steps: [{{gdb: 'shell kill {qemu.pid}'}}, continue]\n"
        (tmp_path / "s.yaml").write_text(words + steps)
        done = run(tmp_path, "run", "s.yaml")

    assert done.status == 2
    assert f"(process {qemu.pid}) has ended" in done.out.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give --board B, or --attach HOST:PORT for a QEMU that runs"),
        (("--control", "x"), "--control goes with --attach HOST:PORT"),
        (("--attach", "here"), "--attach: 'here' is no HOST:PORT, such as localhost:1234"),
        (("--attach", ":70000"), "--attach: ':70000' is no HOST:PORT"),
        (("--attach", ":1", "--", "-S"), "--attach: QEMU runs already"),
        (("--attach", ":1"), "no QEMU with the recorder runs; add to yours what"),
        (("--attach", ":1", "--control", "nowhere"), "nowhere: no recorder here; start QEMU"),
    ],
)
@pytest.mark.parametrize("verb", ["debug", "repl"])
def test_what_cannot_be_attached_to_is_one_line(
    verb: str, words: tuple[str, ...], message: str, elf: Path, tmp_path: Path
) -> None:
    done = run(tmp_path, verb, elf, *words)

    assert done.status in (1, 2)
    assert message in done.err
    assert done.err.count("\n") == 1
