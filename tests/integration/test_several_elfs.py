# SPDX-License-Identifier: GPL-2.0-or-later
"""A bootloader and a library beside the program: `--symbols` for GDB and for every analysis."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.gdb_session import need_gdb
from tests.support.gdbext_cli import Done, gdbext
from tests.support.neighbours import BOARD, LIBRARY_ADDRESS, Neighbours, build_neighbours
from tests.support.qemus import qemu_in
from tests.truth.binutils import symbols


@pytest.fixture
def files(tmp_path: Path) -> Neighbours:
    qemu_in("", "qemu-system-arm")
    return build_neighbours(tmp_path)


def recorded(files: Neighbours, tmp_path: Path, *words: str) -> Done:
    return gdbext(
        *("record", files.app, "--board", BOARD, *words, "-o", "r.rec", "--timeout", 20),
        *("--quiet", "--", *files.qemu_args),
        runtime=tmp_path,
        cwd=tmp_path,
    )


def asked(tmp_path: Path, *words: object) -> dict[str, object]:
    done = gdbext(*words, "--json", runtime=tmp_path, cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    answer: dict[str, object] = json.loads(done.out)
    return answer


def test_a_recording_names_the_files_and_all_questions_use_them(
    files: Neighbours, tmp_path: Path
) -> None:
    done = recorded(files, tmp_path, *files.symbols)
    assert (done.status, done.err) == (0, "")

    assert asked(tmp_path, "analyze", "r.rec")["outside"] == []
    for elf, name, bias, calls in (
        (files.boot, "boot_work", 0, 5),
        (files.lib, "lib_twice", LIBRARY_ADDRESS, 7),
    ):
        report = asked(tmp_path, "callers", "r.rec", name)
        assert report["calls"] == calls
        function = report["function"]
        assert isinstance(function, dict)
        assert int(str(function["address"]), 0) == symbols(elf, "arm")[name] + bias
    covered = asked(tmp_path, "coverage", "r.rec")
    files_covered = covered["files"]
    assert isinstance(files_covered, list)
    assert {Path(each["path"]).name for each in files_covered} == {"boot.c", "app.c", "lib.c"}


def test_files_can_be_given_later(files: Neighbours, tmp_path: Path) -> None:
    recorded(files, tmp_path)
    outside = asked(tmp_path, "analyze", "r.rec")["outside"]
    assert isinstance(outside, list) and len(outside) == 2

    assert asked(tmp_path, "analyze", "r.rec", *files.symbols)["outside"] == []


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("lib.elf@0x8000", "has code at 0x8000, where"),
        ("lib.elf@here", "'here' in 'lib.elf@here' is no address"),
        ("lob.elf@0", "lob.elf: no such file"),
        ("boot.c", "no ELF magic number"),
        ("boot.elf@0x3f00", "boot.elf: not the program that was recorded: 1 of "),
    ],
)
def test_files_that_cannot_be_there_are_one_line(
    files: Neighbours, tmp_path: Path, word: str, message: str
) -> None:
    recorded(files, tmp_path)

    done = gdbext("analyze", "r.rec", "--symbols", word, runtime=tmp_path, cwd=tmp_path)

    assert done.status != 0
    assert message in done.err
    assert done.err.count("\n") == 1


def test_gdb_and_its_questions_know_the_files(files: Neighbours, tmp_path: Path) -> None:
    need_gdb()
    commands = [
        "trace start",
        "break lib_twice if n == 6",
        "continue",
        'printf "BOOT %d %d\\n", $trace_calls("boot_work"), rounds',
        'printf "LIB %d %d\\n", $trace_calls("lib_twice"), total',
        "info line lib_twice",
        "trace dump saved.rec",
    ]
    words = [word for command in commands for word in ("-ex", command)]
    done = gdbext(
        *("debug", files.app, "--board", BOARD, *files.symbols),
        *("--gdb", "-nx", "-batch", *words, "--", *files.qemu_args),
        runtime=tmp_path,
        cwd=tmp_path,
    )

    # 0 + 1 + 2 + 3 + 4 and twice 0 to 5, added by the programs themselves.
    assert "BOOT 5 10" in done.out, done.out + done.err
    assert "LIB 6 30" in done.out
    assert f"starts at address {LIBRARY_ADDRESS:#x} <lib_twice>" in done.out
    assert asked(tmp_path, "callers", "saved.rec", "boot_work")["calls"] == 5


def test_a_session_knows_the_files(files: Neighbours, tmp_path: Path) -> None:
    need_gdb()
    qemu_args = json.dumps(files.qemu_args)
    (tmp_path / "s.yaml").write_text(
        f"firmware: app.elf\nboard: {BOARD}\nqemu-args: {qemu_args}\n"
        f"symbols: [boot.elf, 'lib.elf@{LIBRARY_ADDRESS:#x}']\n"
        "steps:\n  - trace: start\n  - run-until: {function: lib_twice}\n  - delete\n"
        "  - run-until: {exit: 0}\n"
        "  - expect: calls(boot_work) == 5 and calls(lib_twice) == 7\n"
    )

    done = gdbext("run", "s.yaml", runtime=tmp_path, cwd=tmp_path)

    assert (done.status, done.err) == (0, ""), done.out
