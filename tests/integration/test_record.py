# SPDX-License-Identifier: GPL-2.0-or-later
"""`gdbext record` with a real QEMU: exit statuses, limits, interruptions, and what is left."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gdbext.recording.reader import Recording
from tests.support.firmware import counters, firmware_path
from tests.support.gdbext_cli import (
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
    return root


@pytest.fixture
def forever(tmp_path: Path) -> Path:
    """A program that never ends."""
    return forever_elf(tmp_path)


def totals(path: Path) -> int:
    """Instructions in a recording that is whole."""
    with Recording.open(path) as recording:
        assert recording.cut is None
        assert recording.end is not None
        return sum(vcpu.instructions for vcpu in recording.end)


def left_behind(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.name.startswith(".")]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def test_run_to_the_end_passes_output_through_and_keeps_everything(
    tmp_path: Path, qemu_root: str
) -> None:
    elf = firmware_path("basic", "mps2-an385", "O2")
    output = tmp_path / "t.rec"

    done = gdbext("record", elf, *BOARD, "-o", output, runtime=tmp_path, qemu_root=qemu_root)

    assert done.status == 0, done.err
    assert counters(done.out)["done"] == 1
    assert done.err.startswith(f"gdbext: {output}: {totals(output):,} instructions, ")
    assert done.err.count("\n") == 1
    assert left_behind(tmp_path) == []
    assert list((tmp_path / f"gdbext-{os.getuid()}").iterdir()) == []


def test_recording_names_program_board_and_qemu(tmp_path: Path) -> None:
    elf = firmware_path("basic", "mps2-an385", "O2")
    output = tmp_path / "t.rec"

    gdbext("record", elf, *BOARD, "-o", output, "--", "-icount", "shift=5", runtime=tmp_path)

    with Recording.open(output) as recording:
        meta = recording.meta
    assert meta["board"] == "mps2-an385"
    assert meta["cpu"] == "cortex-m3"
    assert meta["vector_table"] == 0
    assert meta["elf_path"] == str(elf)
    assert meta["qemu_args"][-2:] == ["-icount", "shift=5"]
    digest = subprocess.run(["sha256sum", elf], capture_output=True, text=True, check=True)
    assert meta["elf_sha256"] == digest.stdout.split()[0]


def test_instruction_limit_is_exact_to_the_block(
    tmp_path: Path, forever: Path, qemu_root: str
) -> None:
    output = tmp_path / "t.rec"

    done = gdbext(
        *("record", forever, *BOARD, "-o", output, "--insns", "10k"),
        runtime=tmp_path,
        qemu_root=qemu_root,
    )

    assert done.status == 0, done.err
    assert 10_000 <= totals(output) <= 10_001
    assert "(limit of 10,000 instructions)" in done.err
    assert qemu_processes(tmp_path) == []


def test_time_limit_is_124_and_keeps_what_was_recorded(
    tmp_path: Path, forever: Path, qemu_root: str
) -> None:
    output = tmp_path / "t.rec"

    done = gdbext(
        *("record", forever, *BOARD, "-o", output, "--timeout", "1"),
        runtime=tmp_path,
        qemu_root=qemu_root,
    )

    assert done.status == 124, done.err
    assert totals(output) > 1000
    assert qemu_processes(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_interruption_keeps_what_was_recorded(
    tmp_path: Path, forever: Path, number: signal.Signals, status: int
) -> None:
    output = tmp_path / "t.rec"
    running = start(tmp_path, "record", forever, *BOARD, "-o", output)
    wait_until(lambda: recorded_something(tmp_path))

    running.send_signal(number)
    _, err = running.communicate(timeout=60)

    assert running.returncode == status, err
    assert totals(output) > 0
    assert b"(interrupted)" in err
    assert qemu_processes(tmp_path) == []
    assert left_behind(tmp_path) == []


def test_killed_qemu_is_a_failure_and_its_recording_is_salvaged(
    tmp_path: Path, forever: Path, qemu_root: str
) -> None:
    output = tmp_path / "t.rec"
    running = start(tmp_path, "record", forever, *BOARD, "-o", output, qemu_root=qemu_root)
    wait_until(lambda: recorded_something(tmp_path))

    os.kill(qemu_processes(tmp_path)[0], signal.SIGKILL)
    _, err = running.communicate(timeout=60)

    assert running.returncode == 125
    assert b"ended by signal 9" in err
    assert totals(output) > 0


def test_killed_gdbext_leaves_no_qemu(tmp_path: Path, forever: Path) -> None:
    running = start(tmp_path, "record", forever, *BOARD, "-o", tmp_path / "t.rec")
    wait_until(lambda: recorded_something(tmp_path))

    running.kill()
    running.communicate(timeout=60)

    wait_until(lambda: qemu_processes(tmp_path) == [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--", "-machine", "none-such"], "gdbext: qemu-system-arm ended with status 1: "),
        (["--", "-no-such-option"], "gdbext: qemu-system-arm ended with status 1: "),
        (["--insns", "many"], "'many' is no count"),
        (["--board", "mps2-an38"], "unknown board 'mps2-an38'; did you mean"),
        (["-o", "missing/t.rec"], "gdbext: missing: no such directory"),
    ],
)
def test_failure_is_125_one_line_and_leaves_the_old_file(
    tmp_path: Path, forever: Path, words: list[str], message: str
) -> None:
    (tmp_path / "t.rec").write_text("old")

    done = gdbext(
        *("record", forever.name, *BOARD, "-o", "t.rec", *words), runtime=tmp_path, cwd=tmp_path
    )

    assert done.status == 125
    assert message in done.err
    assert done.err.count("\n") == 1
    assert (tmp_path / "t.rec").read_text() == "old"
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_do_no_harm(tmp_path: Path, closed: str) -> None:
    words = gdbext_command(
        "record", firmware_path("basic", "mps2-an385", "O2"), *BOARD, "-o", "t.rec"
    )
    command = f'"$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", command, "sh", *words], cwd=tmp_path, env=environment(tmp_path), check=False
    )

    assert done.returncode == 0
    assert totals(tmp_path / "t.rec") > 0


def test_full_disk_below_our_output_is_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            gdbext_command("boards"), stdout=full, stderr=subprocess.PIPE, check=False
        )

    assert done.returncode == 1
    assert done.stderr == b"gdbext: standard output: cannot be written: No space left on device\n"


def test_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.elf").write_text("text")

    done = gdbext("record", "x.elf", *BOARD, "-o", "t.rec", runtime=tmp_path, cwd=tmp_path)

    assert (done.status, done.err) == (125, "gdbext: x.elf: is no ELF file\n")


def test_program_is_not_replaced_by_its_recording(tmp_path: Path, forever: Path) -> None:
    program = tmp_path / "x.elf"
    program.write_bytes(forever.read_bytes())

    done = gdbext("record", "x.elf", *BOARD, "-o", "x.elf", runtime=tmp_path, cwd=tmp_path)

    assert done.status == 125
    assert done.err == "gdbext: x.elf: is the program itself; -o names another file\n"
    assert program.read_bytes() == forever.read_bytes()


def test_terminal_ctrl_c_ends_the_run_and_leaves_the_terminal_as_it_was(
    tmp_path: Path, forever: Path
) -> None:
    output = tmp_path / "t.rec"
    leader, terminal = pty.openpty()
    before = subprocess.run(["stty", "-g"], stdin=terminal, capture_output=True, check=True).stdout
    running = subprocess.Popen(
        # `setsid -c`: the terminal becomes its controlling one, so that Ctrl-C is a signal.
        ["setsid", "-c", "-w", *gdbext_command("record", forever, *BOARD, "-o", output)],
        env=environment(tmp_path),
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: recorded_something(tmp_path))

    os.write(leader, b"\x03")
    _, err = running.communicate(timeout=60)

    after = subprocess.run(["stty", "-g"], stdin=terminal, capture_output=True, check=True).stdout
    assert running.returncode == 130, err
    assert totals(output) > 0
    assert after == before
    assert os.get_blocking(terminal)
    os.close(leader)
    os.close(terminal)


def start(runtime: Path, *words: object, qemu_root: str = "") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        gdbext_command(*words),
        env=environment(runtime, qemu_root),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def recorded_something(runtime: Path) -> bool:
    """The block table of a live recording below `runtime` holds blocks."""
    for blocks in (runtime / f"gdbext-{os.getuid()}").glob("*/blocks"):
        with blocks.open("rb") as file:
            header = file.read(16)
        if len(header) == 16 and int.from_bytes(header[8:], "little") > 0:
            return True
    return False
