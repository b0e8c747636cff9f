# SPDX-License-Identifier: GPL-2.0-or-later
"""Many sessions in a row, and sessions that are ended half-way, leave nothing behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.firmware import firmware_path
from tests.support.gdb_session import need_gdb
from tests.support.gdbext_cli import environment, forever_elf, gdbext_command
from tests.support.qemus import qemu_in

N_SESSIONS = int(os.environ.get("GDBEXT_TEST_SESSIONS", "20"))
"""`make test-matrix` runs 200."""

N_FILES = 48
"""Open files that one session may have: a session that forgot some would soon end the row."""


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    need_gdb()
    qemu_in("", "qemu-system-arm")
    for name in ("run", "tmp"):
        (tmp_path / name).mkdir()
    return tmp_path


def started(runtime: Path, *words: object) -> subprocess.Popen[bytes]:
    """A gdbext whose sockets and temporary files all go below `runtime`."""
    with (runtime / "out").open("wb") as output:
        return subprocess.Popen(
            gdbext_command(*words),
            env={**environment(runtime / "run"), "TMPDIR": str(runtime / "tmp")},
            cwd=runtime,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (N_FILES, N_FILES)),
        )


def processes(runtime: Path) -> list[str]:
    """Command lines of all processes that were started with this runtime directory."""
    mark = f"XDG_RUNTIME_DIR={runtime / 'run'}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                found.append(command.decode(errors="replace"))
        except OSError:
            continue
    return [command for command in found if command]


def check_nothing_is_left(runtime: Path) -> None:
    assert processes(runtime) == []
    assert list((runtime / "run").glob("gdbext-*/*")) == []
    assert list((runtime / "tmp").iterdir()) == []
    sockets = Path("/proc/net/unix").read_text()
    assert str(runtime) not in sockets


def test_sessions_in_a_row(runtime: Path) -> None:
    numbers = list(range(N_SESSIONS))
    (runtime / "s.yaml").write_text(
        f"firmware: {firmware_path('demo', 'mps2-an385')}\nboard: mps2-an385\n"
        f"save-recording: never\nmatrix: {{n: {numbers}}}\n"
        "steps:\n  - trace: start\n  - break: malloc\n  - continue\n"
        # Some end early, in a failure: those must go as well.
        "  - expect: n % 5 != 4\n  - run-until: {function: malloc}\n  - dump: part.rec\n"
    )

    with started(runtime, "run", "s.yaml", "-j", 2) as running:
        status = running.wait(60 + 5 * N_SESSIONS)

    output = (runtime / "out").read_text()
    assert status == 1, output
    n_failed = N_SESSIONS // 5
    assert f"{N_SESSIONS - n_failed} passed, {n_failed} failed in " in output
    check_nothing_is_left(runtime)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_sessions_that_are_ended_half_way(number: int, jobs: int, runtime: Path) -> None:
    elf = forever_elf(runtime)
    (runtime / "s.yaml").write_text(
        f"firmware: {elf}\nboard: mps2-an385\nmatrix: {{n: [1, 2, 3]}}\n"
        "steps: [trace: start, continue, step: '${n}']\n"
    )
    with started(runtime, "run", "s.yaml", "-j", jobs) as running:
        deadline = time.monotonic() + 60
        while sum("qemu-system" in command for command in processes(runtime)) < jobs:
            assert time.monotonic() < deadline, "no QEMU came up"
            time.sleep(0.05)
        running.send_signal(number)
        status = running.wait(60)

    assert status == 128 + number, (runtime / "out").read_text()
    assert "Traceback" not in (runtime / "out").read_text()
    check_nothing_is_left(runtime)
