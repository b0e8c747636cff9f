# SPDX-License-Identifier: GPL-2.0-or-later
"""The `trace` commands in a real GDB, without a target: prefix, help, completion, settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.firmware import firmware_path
from tests.support.gdb_session import LOADER, gdb_batch
from tests.support.gdbext_cli import Done


@pytest.fixture(scope="module")
def elf() -> Path:
    """A program with debug information."""
    return firmware_path("basic", "mps2-an385", "O0")


LOCATIONS = [
    "main",
    "basic.c:100",
    "main if 1 == 1",
    'main if $_streq("a", "a\\\\b")',
    "*main",
    "-function main",
    "-source basic.c -line 100",
    "main -force-condition if nonsense == 1",
    "nonsense",
    "main if nonsense == 1",
]


@pytest.mark.parametrize("name", ["trace", "tracepoint", "tp", "tr"])
@pytest.mark.parametrize("location", LOCATIONS)
def test_gdbs_own_tracepoints_work_as_before(
    tmp_path: Path, elf: Path, name: str, location: str
) -> None:
    own = gdb_batch(f"trace {location}", "info tracepoints", runtime=tmp_path, elf=elf, load=False)

    with_ours = gdb_batch(f"{name} {location}", "info tracepoints", runtime=tmp_path, elf=elf)

    # GDB asks whether to make it pending; through MI it does not ask.
    said = re.sub(r"^Make tracepoint pending.*\n", "", own.out, flags=re.MULTILINE)
    assert with_ours.out == said
    assert with_ours.err == own.err


@pytest.mark.parametrize("location", ["-force-condition main if nonsense == 1", "-nonsense"])
def test_wrong_options_are_refused_as_before(tmp_path: Path, elf: Path, location: str) -> None:
    done = gdb_batch(f"trace {location}", "info tracepoints", runtime=tmp_path, elf=elf)

    assert done.out == "No tracepoints.\n"
    assert one_line(done)


def test_override_off_gives_gdb_every_word(tmp_path: Path, elf: Path) -> None:
    done = gdb_batch(
        "set gdbext override-trace off",
        "trace start",
        "show gdbext override-trace",
        runtime=tmp_path,
        elf=elf,
    )

    assert 'Function "start" not defined.' in done.err
    assert "Whether `trace` takes the verbs that record is off." in done.out


def test_without_a_recorder_one_line_says_how_to_start(tmp_path: Path, elf: Path) -> None:
    for command in ("trace start", "qtrace start", "trace status", "trace analyze", "trace dump f"):
        done = gdb_batch(command, runtime=tmp_path, elf=elf)

        assert done.err.startswith("no QEMU with the recorder runs; start one with `gdbext debug ")
        assert "gdbext qemu-args" in done.err
        assert done.err.count("\n") == 1


def test_help_lists_the_verbs_and_has_gdbs_form(tmp_path: Path) -> None:
    done = gdb_batch("help trace", "help trace callers", "help qtrace callers", runtime=tmp_path)

    assert "trace start -- Begin recording" in done.out
    assert "Usage: trace callers FUNCTION [--top N] [--json]\n" in done.out
    assert "Usage: qtrace callers FUNCTION [--top N] [--json]\n" in done.out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("trace sta", ["trace start", "trace status"]),
        ("trace callers sca", ["trace callers scan"]),
        ("trace callers basic.c:sca", ["trace callers basic.c:scan"]),
        ("trace analyze --function sca", ["trace analyze --function scan"]),
        ("trace analyze --function=sca", ["trace analyze --function=scan"]),
        ("trace analyze --f", ["trace analyze --function"]),
        ("trace analyze --json sca", []),
        (
            "trace last --",
            ["trace last --call", "trace last --insn", "trace last --json", "trace last --line"],
        ),
    ],
)
def test_completion(tmp_path: Path, elf: Path, text: str, expected: list[str]) -> None:
    done = gdb_batch(f"complete {text}", runtime=tmp_path, elf=elf)

    assert done.err == ""
    assert done.out.splitlines() == expected


def test_files_complete(tmp_path: Path, elf: Path) -> None:
    (tmp_path / "saved.rec").write_text("")

    done = gdb_batch(f"complete trace load {tmp_path}/sav", runtime=tmp_path, elf=elf)

    assert done.out.splitlines() == [f"trace load {tmp_path}/saved.rec"]


def test_wrong_words_are_one_line(tmp_path: Path, elf: Path) -> None:
    done = gdb_batch("trace analyze --funktion f", runtime=tmp_path, elf=elf)

    assert one_line(done) == (
        "trace analyze: unrecognized arguments: --funktion f; see `help trace analyze`"
    )


def test_control_that_is_no_socket_is_named(tmp_path: Path, elf: Path) -> None:
    done = gdb_batch(f"set gdbext control {tmp_path}/x", "trace start", runtime=tmp_path, elf=elf)

    assert one_line(done).startswith(f"{tmp_path}/control: no recorder here; ")


def test_loading_twice_does_no_harm(tmp_path: Path) -> None:
    done = gdb_batch(f"source {LOADER}", "show gdbext", runtime=tmp_path)

    assert done.err == ""
    assert "The recorder is that of the QEMU that GDB is connected to." in done.out


def one_line(done: Done) -> str:
    assert done.err.count("\n") == 1
    return done.err.strip()
