# SPDX-License-Identifier: GPL-2.0-or-later
"""The Python API: docs/api.md says what is true, in a program and inside GDB."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gdbext import api
from gdbext.target.boards import load_board
from tests.support.firmware import firmware_path
from tests.support.gdb_session import gdb_batch, need_gdb
from tests.support.gdbext_cli import ROOT, gdbext
from tests.support.qemu_runs import icount, running, wait_until
from tests.support.qemus import qemu_in

DOCUMENT = ROOT / "docs" / "api.md"
BOARD = ("--board", "mps2-an385")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where demo.elf and demo.rec are, as the document says."""
    qemu_in("", "qemu-system-arm")
    path = tmp_path_factory.mktemp("api")
    elf = firmware_path("demo", "mps2-an385")
    shutil.copy(elf, path / "demo.elf")
    words = ("record", elf, *BOARD, "-o", "demo.rec", "--", "-icount", "shift=5")
    done = gdbext(*words, runtime=path, cwd=path)
    assert done.status == 0, done.err
    return path


def test_the_examples_hold(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    text = re.sub(r"^```.*$", "", DOCUMENT.read_text(), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, "api.md", str(DOCUMENT), 0)
    said: list[str] = []

    result = doctest.DocTestRunner().run(examples, out=said.append)

    assert len(examples.examples) > 10
    assert result.failed == 0, "".join(said)


def test_the_script_does_in_gdb_what_the_document_shows(folder: Path) -> None:
    need_gdb()
    text = DOCUMENT.read_text()
    script = re.search(r"```python\n(# unfreed.py\n.*?)```", text, re.DOTALL)
    shown = re.search(r"```\n(\(gdb\) .*?)```", text, re.DOTALL)
    assert script is not None
    assert shown is not None
    (folder / "unfreed.py").write_text(script[1])
    lines = [line for line in shown[1].splitlines() if line]
    words = ["-nx", "-batch"]
    for line in lines:
        if line.startswith("(gdb) "):
            words += ["-ex", line.removeprefix("(gdb) ")]
    expected = [line for line in lines if not line.startswith("(gdb) ")]

    done = gdbext(
        *("debug", "demo.elf", *BOARD, f"--gdb-args={shlex.join(words)}"),
        *("--", "-icount", "shift=5"),
        runtime=folder,
        cwd=folder,
    )

    said = (done.out + done.err).replace(f"{folder}/demo.elf", "demo.elf")
    # Addresses and lines are the compiler's.
    printed = [re.sub(r"0x[0-9a-f]+", "N", line) for line in said.splitlines()]
    for line in expected:
        assert re.sub(r"0x[0-9a-f]+", "N", line) in printed
    assert "Traceback" not in said


def test_results_are_those_of_the_command_line(folder: Path) -> None:
    with api.open(folder / "demo.rec", elf=folder / "demo.elf") as trace:
        ours: dict[str, Any] = {
            "callers malloc": trace.callers("malloc"),
            "callees malloc": trace.callees("malloc"),
            "interrupts": trace.interrupts(),
            "tasks": trace.tasks(),
            "tree malloc": trace.tree("malloc"),
            "profile": trace.profile(),
        }
        for command, report in ours.items():
            verb, *names = command.split()
            words = (verb, "demo.rec", *names, "--elf", "demo.elf", "--json")
            answer = json.loads(gdbext(*words, runtime=folder, cwd=folder).out)
            assert answer.pop("schema") == f"gdbext/{verb}/1"
            theirs = json.loads(json.dumps(report.to_json()))
            assert answer == theirs


def test_a_live_directory_is_asked_as_it_is_now(tmp_path: Path) -> None:
    board = load_board("mps2-an385")
    elf = firmware_path("basic", "mps2-an385", "O0")
    live = tmp_path / "live"
    with running(board, elf, qemu_in("", board.qemu), live, icount(board), gdb=True) as run:
        wait_until(run.gdb.exists, "the GDB stub")
        with api.open(live, elf=elf) as trace:
            before = trace.instructions
            commands = ("break scan", "continue", "detach")
            gdb_batch(f"target remote {run.gdb}", *commands, runtime=tmp_path, elf=elf, load=False)
            assert run.wait() == 0
            after = trace.instructions
            calls = trace.calls("round_trip")

    assert before == 0
    assert after > 100_000
    assert calls == 60
    assert trace_of_the_dead(live, elf) == after


def trace_of_the_dead(live: Path, elf: Path) -> int:
    """Instructions in a live directory whose QEMU has ended."""
    with api.open(live, elf=elf) as trace:
        return trace.instructions


def test_errors_are_one_line(folder: Path, tmp_path: Path) -> None:
    def text_of(ask: Callable[[], object]) -> str:
        with pytest.raises(api.GdbextError) as caught:
            ask()
        return str(caught.value)

    trace = api.open(folder / "demo.rec", elf=folder / "demo.elf")

    said = [
        text_of(lambda: api.open(tmp_path / "none.rec")),
        text_of(lambda: api.open(folder / "demo.elf")),
        text_of(lambda: trace.calls("mallocc")),
        text_of(lambda: trace.coverage("nothing.c")),
        text_of(api.session),
    ]
    trace.close()
    said.append(text_of(lambda: trace.calls("malloc")))

    assert all(line and "\n" not in line for line in said)
    assert "did you mean malloc" in said[2]
    assert "outside GDB use api.open" in said[4]
