# SPDX-License-Identifier: GPL-2.0-or-later
"""The same answers at a breakpoint, from the saved file in another GDB, and outside GDB."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.integration.test_debug import debug
from tests.support.firmware import firmware_path
from tests.support.gdb_session import gdb_batch
from tests.support.gdbext_cli import gdbext


def objects(text: str) -> list[dict[str, object]]:
    """The JSON objects in a session's output."""
    found = re.findall(r"^\{.*?^\}", text, re.MULTILINE | re.DOTALL)
    return [json.loads(piece) for piece in found]


def test_live_loaded_and_command_line_answers_are_equal(tmp_path: Path) -> None:
    elf = firmware_path("basic", "mps2-an385", "O0")
    questions = [
        "trace analyze --json",
        "trace analyze --function=scan --json",
        "trace callers scan --json",
        "trace last 30 --json",
    ]

    live = debug(
        tmp_path,
        elf,
        "trace start",
        "break scan",
        "continue",
        "continue",
        "continue",
        *questions,
        "trace dump t.rec",
        cwd=tmp_path,
    )
    loaded = gdb_batch(f"trace load {tmp_path}/t.rec", *questions, runtime=tmp_path, elf=elf)
    outside = [
        gdbext("analyze", "t.rec", "--json", runtime=tmp_path, cwd=tmp_path),
        gdbext("analyze", "t.rec", "--function=scan", "--json", runtime=tmp_path, cwd=tmp_path),
        gdbext("callers", "t.rec", "scan", "--json", runtime=tmp_path, cwd=tmp_path),
        gdbext("last", "t.rec", "30", "--json", runtime=tmp_path, cwd=tmp_path),
    ]

    answers = objects(live.out)
    assert [answer["schema"] for answer in answers] == [
        *("gdbext/analyze/1", "gdbext/analyze/1", "gdbext/callers/1", "gdbext/last/1")
    ], live.err
    assert objects(loaded.out) == answers, loaded.err
    assert [json.loads(done.out) for done in outside] == answers
    # Stopped before the first instruction of its third call, which has not begun.
    assert answers[2]["calls"] == 2
    assert list(answers[0])[:2] == ["schema", "instructions"]
    assert len(answers[3]["steps"]) == 30  # type: ignore[arg-type]


def test_unknown_function_suggests_the_nearest(tmp_path: Path) -> None:
    elf = firmware_path("basic", "mps2-an385", "O0")

    done = debug(tmp_path, elf, "trace start", "break main", "continue", "trace callers scam")

    said = [line for line in done.err.splitlines() if "no function" in line]
    assert len(said) == 1
    assert "no function 'scam'" in said[0]
    assert "did you mean scan" in said[0]


def test_nothing_recorded_yet_is_said(tmp_path: Path) -> None:
    done = debug(tmp_path, firmware_path("basic", "mps2-an385", "O0"), "trace analyze")

    # After it GDB may complain that QEMU is gone.
    assert done.err.splitlines()[0] == (
        "nothing is recorded yet: `trace start`, then let the program run"
    )


def test_answers_are_there_after_the_guest_has_ended(tmp_path: Path) -> None:
    elf = firmware_path("basic", "mps2-an385", "O0")

    done = debug(tmp_path, elf, "trace start", "continue", "trace callers main --json")

    assert "exited normally" in done.out
    assert objects(done.out)[0]["calls"] == 1, done.err


def test_loaded_file_that_is_none_leaves_the_session_as_it_was(tmp_path: Path) -> None:
    elf = firmware_path("basic", "mps2-an385", "O0")
    (tmp_path / "none.rec").write_text("x")

    done = debug(
        tmp_path,
        elf,
        "trace start",
        "break main",
        "continue",
        "stepi",
        f"trace load {tmp_path}/none.rec",
        "trace callers main --json",
    )

    assert "none.rec: " in done.err
    assert objects(done.out)[0]["calls"] == 1


def test_another_program_than_the_recorded_is_refused(tmp_path: Path) -> None:
    elf = firmware_path("basic", "mps2-an385", "O0")
    other = firmware_path("basic", "mps2-an385", "O2")
    gdbext("record", elf, "--board", "mps2-an385", "-o", tmp_path / "t.rec", runtime=tmp_path)

    done = gdbext("analyze", tmp_path / "t.rec", "--elf", other, runtime=tmp_path)

    assert done.status == 1
    assert "not the program that was recorded" in done.err
    assert done.out == ""
