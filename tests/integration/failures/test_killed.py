# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes killed in the middle: no QEMU stays, and recordings are kept or told of."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from gdbext.recording.reader import Recording
from tests.integration.failures.programs import wanderer_elf
from tests.support.executed import executed
from tests.support.gdb_session import need_gdb
from tests.support.gdbext_cli import (
    Done,
    environment,
    forever_elf,
    gdbext,
    gdbext_command,
    qemu_processes,
)
from tests.support.qemu_runs import wait_until

BOARD = ("--board", "mps2-an385")
LEFT = re.compile(
    r"^gdbext: (\S+): left by a session that has ended \([^)]+\): `gdbext analyze` reads it; "
    r"remove it when it is of no use$",
    re.MULTILINE,
)


def sessions(runtime: Path) -> list[Path]:
    """What lies in the runtime directory."""
    return sorted((runtime / f"gdbext-{os.getuid()}").glob("*"))


def recorded_chunks(runtime: Path) -> int:
    """Finished chunks of the only live recording below `runtime`."""
    for session in sessions(runtime):
        if (session / "control").exists():  # the last thing that the recorder makes
            with Recording.open(session) as recording:
                return len(recording.chunks)
    return 0


def debug_words(elf: Path, *commands: str) -> list[str]:
    """A `gdbext debug` whose GDB runs these commands."""
    need_gdb()
    words = ["-nx", "-batch"]
    for command in commands:
        words += ["-ex", command]
    return gdbext_command("debug", elf, *BOARD, f"--gdb-args={shlex.join(words)}")


def start(runtime: Path, words: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words,
        env=environment(runtime),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=runtime,
    )


def child(pid: int, name: str) -> int:
    """The child of a process whose command begins with `name`."""
    for number in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if Path(f"/proc/{number}/comm").read_text().startswith(name):
            return int(number)
    raise AssertionError(f"no {name} below {pid}")


def test_gdb_killed_while_qemu_records_leaves_nothing(tmp_path: Path) -> None:
    elf = wanderer_elf(tmp_path, 0xFFFFFFFF)
    session = start(tmp_path, debug_words(elf, "trace start", "continue"))
    wait_until(lambda: recorded_chunks(tmp_path) > 0, "it records")

    os.kill(child(session.pid, "gdb"), signal.SIGKILL)

    _, err = session.communicate(timeout=60)
    assert session.returncode not in (0, None), err
    assert "Traceback" not in err
    wait_until(lambda: qemu_processes(tmp_path) == [], "QEMU ends")
    assert sessions(tmp_path) == []


def test_gdbext_killed_while_qemu_records_is_told_by_the_next_one(tmp_path: Path) -> None:
    elf = wanderer_elf(tmp_path, 0xFFFFFFFF)
    session = start(tmp_path, debug_words(elf, "trace start", "continue"))
    wait_until(lambda: recorded_chunks(tmp_path) > 0, "it records")
    gdb = child(session.pid, "gdb")

    session.kill()
    session.wait(60)

    wait_until(lambda: qemu_processes(tmp_path) == [], "QEMU ends")
    with contextlib.suppress(ProcessLookupError):  # it may have ended with its terminal
        os.kill(gdb, signal.SIGKILL)
    [left] = sessions(tmp_path)
    following = gdbext(*later_record(tmp_path), runtime=tmp_path)
    assert following.status == 0
    assert LEFT.findall(following.err) == [str(left)]
    assert_readable(tmp_path, left, elf)


def test_killed_record_is_told_by_the_next_one(tmp_path: Path) -> None:
    elf = wanderer_elf(tmp_path, 0xFFFFFFFF)
    session = start(tmp_path, gdbext_command("record", elf, *BOARD, "-o", tmp_path / "t.rec"))
    wait_until(lambda: recorded_chunks(tmp_path) > 0, "it records")

    session.kill()
    session.wait(60)

    wait_until(lambda: qemu_processes(tmp_path) == [], "QEMU ends")
    [left] = tmp_path.glob(".t.rec.*.live")
    following = gdbext(*later_record(tmp_path), runtime=tmp_path)
    assert LEFT.findall(following.err) == [str(left)]
    assert_readable(tmp_path, left, elf)
    for file in left.iterdir():
        file.unlink()
    left.rmdir()
    assert LEFT.findall(gdbext(*later_record(tmp_path), runtime=tmp_path).err) == []
    assert sessions(tmp_path) == []


def test_killed_session_that_recorded_nothing_is_cleared_away(tmp_path: Path) -> None:
    session = start(tmp_path, debug_words(forever_elf(tmp_path), "continue"))
    wait_until(lambda: any((s / "control").exists() for s in sessions(tmp_path)), "QEMU is there")
    gdb = 0

    def gdb_runs() -> bool:
        nonlocal gdb
        try:
            gdb = child(session.pid, "gdb")
        except (AssertionError, FileNotFoundError):
            return False
        return True

    wait_until(gdb_runs, "GDB is there")
    session.kill()
    session.wait(60)
    wait_until(lambda: qemu_processes(tmp_path) == [], "QEMU ends")
    with contextlib.suppress(ProcessLookupError):  # it may have ended with its terminal
        os.kill(gdb, signal.SIGKILL)
    assert len(sessions(tmp_path)) == 1

    following = gdbext(*later_record(tmp_path), runtime=tmp_path)

    assert LEFT.findall(following.err) == []
    assert sessions(tmp_path) == []


def later_record(directory: Path) -> list[object]:
    """Words of a short recording, made in the same runtime directory."""
    elf = wanderer_elf(directory, 1000)
    return ["record", elf, *BOARD, "-o", directory / "later.rec"]


def assert_readable(runtime: Path, directory: Path, elf: Path) -> None:
    """The recording is analysed, and its total is what was executed."""
    done = gdbext("analyze", directory, "--elf", elf, "--json", runtime=runtime)
    assert done.status == 0, done.err
    answer = json.loads(done.out)
    assert answer["instructions"] == len(executed(directory)[0].addresses) > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_record_keeps_an_exact_prefix(tmp_path: Path, number: signal.Signals) -> None:
    elf = wanderer_elf(tmp_path, 0xFFFFFFFF)
    output = tmp_path / "t.rec"
    session = start(tmp_path, gdbext_command("record", elf, *BOARD, "-o", output))
    wait_until(lambda: recorded_chunks(tmp_path) > 0, "it records")

    session.send_signal(number)
    _, err = session.communicate(timeout=120)

    assert session.returncode == 128 + number, err
    assert qemu_processes(tmp_path) == []
    assert sessions(tmp_path) == []
    addresses = executed(output)[0].addresses
    whole = tmp_path / "whole.rec"
    words = ["--insns", str(len(addresses)), "--quiet"]
    assert gdbext("record", elf, *BOARD, "-o", whole, *words, runtime=tmp_path).status == 0
    truth = executed(whole)[0].addresses
    assert addresses == truth[: len(addresses)]


def gdb_session(runtime: Path, elf: Path, *commands: str) -> Done:
    done = subprocess.run(
        debug_words(elf, *commands),
        env=environment(runtime),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        cwd=runtime,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_qemu_killed_between_queries_is_said_and_the_recording_still_answers(
    tmp_path: Path,
) -> None:
    elf = wanderer_elf(tmp_path, 0xFFFFFFFF)
    script = tmp_path / "kill.py"
    script.write_text(
        "import os, pathlib, signal, time\n"
        "live = next(pathlib.Path(os.environ['XDG_RUNTIME_DIR']).glob('gdbext-*/*/live'))\n"
        "pid = int.from_bytes(live.read_bytes()[32:36], 'little')\n"
        "os.kill(pid, signal.SIGKILL)\n"
        "while os.path.exists(f'/proc/{pid}'):\n    time.sleep(0.01)\n"
    )
    done = gdb_session(
        tmp_path,
        elf,
        "trace start",
        "tbreak leaf10",
        "continue",
        "trace analyze --function=start --json",
        f"source {script}",
        "trace analyze --function=start",
        "trace status",
        "trace stop",
        "trace dump t.rec",
    )

    assert '"schema": "gdbext/analyze/1"' in done.out or '"schema"' in done.out
    assert "Traceback" not in done.err + done.out
    assert qemu_processes(tmp_path) == []
    said = [line for line in done.err.splitlines() if "ended" in line or "no recorder" in line]
    assert said, done.err


def test_guest_that_exits_during_the_session_leaves_answers(tmp_path: Path) -> None:
    elf = wanderer_elf(tmp_path, 200_000)
    done = gdb_session(
        tmp_path,
        elf,
        "trace start",
        "continue",
        "trace analyze --json",
        "trace dump t.rec",
    )

    assert "Traceback" not in done.err + done.out
    assert "exited normally" in done.out or "Remote connection closed" in done.err + done.out
    truth = executed_in_full_run(tmp_path, elf)
    if (tmp_path / "t.rec").exists():
        assert len(executed(tmp_path / "t.rec")[0].addresses) == truth
    found = re.search(r'"instructions": (\d+)', done.out)
    assert found, done.out + done.err
    assert int(found[1]) == truth


def executed_in_full_run(runtime: Path, elf: Path) -> int:
    output = runtime / "full.rec"
    done = gdbext("record", elf, *BOARD, "-o", output, "--quiet", runtime=runtime)
    assert done.status == 0, done.err
    return len(executed(output)[0].addresses)
