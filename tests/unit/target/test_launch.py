# SPDX-License-Identifier: GPL-2.0-or-later
"""Starting and ending QEMU's process; the program started is a stand-in."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gdbext.errors import TargetError
from gdbext.target.launch import RecorderOptions, launch, qemu_command
from gdbext.target.runtime import make_session_directory, remove_session_directory

ROOT = Path(__file__).parents[3]
STUBBORN = "trap '' TERM; while :; do sleep 0.05; done"


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The runtime directory is the test's own; its path is short, as sockets' paths must be."""
    with tempfile.TemporaryDirectory(prefix="g-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder, f"gdbext-{os.getuid()}")


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that makes a program from shell text."""

    def make(text: str) -> Path:
        path = tmp_path / "qemu-system-standin"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    return make


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_exit_status_is_the_programs(program: Callable[[str], Path]) -> None:
    with launch(program("exit 42"), [], Path("p.so"), label="x") as emulator:
        status = emulator.wait(20)

    assert status == 42


def test_death_by_signal_is_told_as_one(program: Callable[[str], Path]) -> None:
    with launch(program("kill -ABRT $$"), [], Path("p.so"), label="x", quiet=True) as emulator:
        status = emulator.wait(20)

    assert status == -signal.SIGABRT


def test_runs_in_another_session(program: Callable[[str], Path]) -> None:
    with launch(program("exec sleep 60"), [], Path("p.so"), label="x") as emulator:
        session = os.getsid(emulator.pid)

    assert session != os.getsid(0)


def test_close_ends_it_and_removes_the_private_directory(program: Callable[[str], Path]) -> None:
    emulator = launch(program("exec sleep 60"), [], Path("p.so"), label="a b/c")
    mode = stat.S_IMODE(emulator.directory.stat().st_mode)
    name = emulator.directory.name

    emulator.close()

    assert mode == 0o700
    assert name.startswith("a-b-c-")
    assert not emulator.directory.exists()
    assert not is_running(emulator.pid)


def test_kill_does_not_wait_for_a_program_that_ignores_sigterm(
    program: Callable[[str], Path],
) -> None:
    with launch(program(STUBBORN), [], Path("p.so"), label="x") as emulator:
        emulator.kill()

        assert emulator.wait(20) == -signal.SIGKILL


@pytest.mark.parametrize("text", ["exec sleep 60", STUBBORN], ids=["plain", "ignores-sigterm"])
def test_killed_parent_leaves_nothing_behind(program: Callable[[str], Path], text: str) -> None:
    script = (
        "import os, sys, signal\n"
        "from pathlib import Path\n"
        "import gdbext.target.launch as launch\n"
        "launch.GRACE_S = 0.2\n"
        f"emulator = launch.launch(Path({str(program(text))!r}), [], Path('p.so'), label='x')\n"
        "print(emulator.pid, emulator._watchdog.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == -signal.SIGKILL
    pid, watchdog = map(int, done.stdout.splitlines()[0].split())
    assert wait_for(lambda: not is_running(pid) and not is_running(watchdog))


def test_killed_watchdog_takes_the_program_along(program: Callable[[str], Path]) -> None:
    with launch(program(STUBBORN), [], Path("p.so"), label="x") as emulator:
        os.kill(emulator._watchdog.pid, signal.SIGKILL)

        assert wait_for(lambda: not is_running(emulator.pid))


def test_start_failure_is_the_programs_own_line(
    program: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    text = 'echo old >&2; echo "qemu-system-standin: no machine: foo" >&2; echo try >&2; exit 1'
    with (
        launch(program(text), [], Path("p.so"), label="x", gdb_port=1) as emulator,
        pytest.raises(TargetError) as raised,
    ):
        emulator.wait_ready()

    assert str(raised.value) == "qemu-system-standin ended with status 1: no machine: foo"
    assert capfd.readouterr().err == ""


def test_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="qemu-system-none: No such file"):
        launch(tmp_path / "qemu-system-none", [], Path("p.so"), label="x")


def test_stderr_is_passed_on_when_the_program_ends(
    program: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    with launch(program("echo hello >&2"), [], Path("p.so"), label="x") as emulator:
        emulator.wait_ready()

    assert capfd.readouterr().err == "hello\n"


def test_non_blocking_output_does_not_reach_our_end_of_a_pipe(
    program: Callable[[str], Path],
) -> None:
    reading, writing = os.pipe()
    text = 'exec python3 -c "import os; os.set_blocking(1, False)"'

    with launch(program(text), [], Path("p.so"), label="x", stdout=writing) as emulator:
        status = emulator.wait(20)

    assert status == 0
    assert os.get_blocking(writing)
    os.close(reading)
    os.close(writing)


def test_environment_is_given_to_the_program_only(
    program: Callable[[str], Path], tmp_path: Path
) -> None:
    text = f"echo $EXTRA > {tmp_path}/said"

    with launch(
        program(text), [], Path("p.so"), label="x", environment={"EXTRA": "a b"}
    ) as emulator:
        emulator.wait(20)

    assert (tmp_path / "said").read_text() == "a b\n"
    assert "EXTRA" not in os.environ


def test_commas_in_paths_are_doubled_for_qemu() -> None:
    argument = RecorderOptions(record=True, insns=5).argument(Path("/a,b/p.so"), Path("/c,d"))

    command = qemu_command(Path("q"), ["-M", "m"], argument, gdb="unix:/s", extra_args=["-x"])

    plugin = "/a,,b/p.so,dir=/c,,d,record=on,insns=5"
    assert command == ["q", "-M", "m", "-plugin", plugin, "-S", "-gdb", "unix:/s", "-x"]


def test_runtime_directory_of_somebody_else_is_refused(runtime: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    runtime.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(TargetError, match="is not a directory of yours"):
        make_session_directory("x")


def test_directory_name_is_shortened_before_the_sockets_path_is_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tempfile.TemporaryDirectory(prefix="r" * 50, dir="/tmp") as place:
        monkeypatch.setenv("XDG_RUNTIME_DIR", place)

        session = make_session_directory("a-long-program-name")

        assert session.name.startswith("s-")


def test_runtime_directory_too_long_for_sockets_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ("r" * 100)).mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("r" * 100)))

    with pytest.raises(TargetError, match="set XDG_RUNTIME_DIR to a shorter directory"):
        make_session_directory("x")


def test_data_directory_is_reached_by_a_short_link_and_removed_with_it(tmp_path: Path) -> None:
    data = tmp_path / ("long" * 40)

    session = make_session_directory("x", data)

    assert session.resolve() == data
    assert len(str(session)) < len(str(data))
    remove_session_directory(session)
    assert not data.exists()
    assert not session.is_symlink()
