# SPDX-License-Identifier: GPL-2.0-or-later
"""`coverage`, `list` and `branches` as users ask them: from GDB, live, and on the command line."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_debug import debug
from tests.integration.test_questions import objects
from tests.support.firmware import FIRMWARE_DIRECTORY, firmware_path
from tests.support.gdb_session import LOADER, gdb_batch, need_gdb
from tests.support.gdbext_cli import environment, gdbext
from tests.truth.binutils import disassemble, functions


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of the demo firmware."""
    path = tmp_path_factory.mktemp("demo") / "t.rec"
    elf = firmware_path("demo", "mps2-an385", "")
    done = gdbext("record", elf, "--board", "mps2-an385", "-o", path, runtime=path.parent)
    assert done.status == 0, done.err
    return path


def ask(recording: Path, verb: str, *words: object) -> dict[str, Any]:
    """The JSON answer."""
    done = gdbext(verb, recording, *words, "--json", runtime=recording.parent)
    assert done.status == 0, done.err
    answer: dict[str, Any] = json.loads(done.out)
    assert answer["schema"] == f"gdbext/{verb}/1"
    return answer


def test_answers_are_equal_live_loaded_and_outside(tmp_path: Path) -> None:
    elf = firmware_path("basic", "mps2-an385", "O0")
    questions = ["coverage --json", "coverage scan --json", "branches basic.c --json"]
    questions.append("list scan --json")

    live = debug(
        tmp_path,
        elf,
        "trace start",
        "break scan",
        "continue",
        "continue",
        *(f"trace {question}" for question in questions),
        "trace dump t.rec",
        cwd=tmp_path,
    )
    loaded = gdb_batch(
        f"trace load {tmp_path}/t.rec",
        *(f"trace {q}" for q in questions),
        runtime=tmp_path,
        elf=elf,
    )
    outside = [
        gdbext(q.split()[0], "t.rec", *q.split()[1:], runtime=tmp_path, cwd=tmp_path)
        for q in questions
    ]

    answers = objects(live.out)
    assert len(answers) == 4, live.err
    assert objects(loaded.out) == answers, loaded.err
    assert [json.loads(done.out) for done in outside] == answers


def test_live_coverage_grows_between_stops(tmp_path: Path) -> None:
    done = debug(
        tmp_path,
        firmware_path("basic", "mps2-an385", "O0"),
        "trace start",
        "break main",
        "continue",
        "trace coverage --json",
        "break gx_report",
        "continue",
        "trace coverage --json",
    )

    first, second = objects(done.out)
    for what in ("insns", "lines", "functions", "branches"):
        early, late = first["totals"][what], second["totals"][what]  # type: ignore[index]
        assert 0 < early["covered"] < late["covered"] <= late["total"] == early["total"]


def test_functions_are_those_of_nm(demo: Path) -> None:
    answer = ask(demo, "coverage", "--all")
    elf = firmware_path("demo", "mps2-an385", "")

    ours = {f["address"] for file in answer["files"] for f in file["functions"]}
    ours |= {f["address"] for f in answer["no_source"]["functions"]}

    code = disassemble(elf, "arm")  # nm has the vector table and constants in .text too
    assert ours == {f.address for f in functions(elf, "arm") if f.address in code}
    ran = {f["name"] for file in answer["files"] for f in file["functions"] if f["covered"]}
    assert {"malloc", "main", "gx_timer_tick"} <= ran
    assert not {"command_reset", "heap_dump", "panic"} & ran


def test_totals_are_the_sums_of_what_is_listed(demo: Path) -> None:
    answer = ask(demo, "coverage")

    lines = [line for file in answer["files"] for line in file["lines"]]
    assert answer["totals"]["lines"]["total"] == len(lines)
    assert answer["totals"]["lines"]["covered"] == sum(
        line["state"] in ("covered", "partial") for line in lines
    )
    branches = [branch for file in answer["files"] for branch in file["branches"]]
    assert answer["totals"]["branches"] == {
        "covered": sum((b["taken"] > 0) + (b["not_taken"] > 0) for b in branches),
        "total": 2 * len(branches),
    }


@pytest.mark.parametrize(("limit", "status"), [("10", 0), ("74", 0), ("75", 3), ("100", 3)])
def test_limits_decide_the_exit_status(demo: Path, limit: str, status: int) -> None:
    percent = ask(demo, "coverage")["totals"]["lines"]
    assert 74 < 100 * percent["covered"] / percent["total"] < 75

    done = gdbext("coverage", demo, "--fail-under-lines", limit, runtime=demo.parent)

    assert done.status == status
    assert ("lines: 74." in done.err) == bool(status)


def test_include_and_exclude_choose_files(demo: Path) -> None:
    def names(*words: str) -> set[str]:
        return {Path(file["path"]).name for file in ask(demo, "coverage", *words)["files"]}

    assert names("--include", "demo/*.c") == {"allocator.c", "commands.c", "main.c"}
    assert names("--include", "demo/*.c", "--exclude", "main.c") == {"allocator.c", "commands.c"}
    left_out = ask(demo, "coverage", "--include", "main.c")["filtered"]
    assert left_out["files"] == 8
    assert left_out["lines"]["total"] > 100


def test_listing_shows_counts_and_outcomes_beside_the_source(demo: Path) -> None:
    done = gdbext("list", demo, "malloc", runtime=demo.parent)

    source = (FIRMWARE_DIRECTORY / "demo" / "allocator.c").read_text().splitlines()
    assert "\x1b" not in done.out
    rows = done.out.splitlines()[1:]
    at = next(n for n, line in enumerate(source) if "pool.first.size_bytes == 0" in line)
    assert f"27,000  1/26,999  {at + 1}  {source[at]}" in rows
    assert f"     1            {at + 2}  {source[at + 1]}" in rows


def test_listing_is_coloured_on_a_terminal_only_and_not_after_style_off(demo: Path) -> None:
    def in_terminal(*commands: str) -> str:
        words = [need_gdb(), "-nx", "-q", "-x", str(LOADER), "-ex", f"trace load {demo}"]
        for command in (*commands, "trace list free", "quit"):
            words += ["-ex", command]
        words.append(str(firmware_path("demo", "mps2-an385", "")))
        master, slave = pty.openpty()
        env = {**environment(demo.parent), "TERM": "xterm"}
        env.pop("NO_COLOR", None)
        process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=env)
        os.close(slave)
        text = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        os.close(master)
        process.wait(60)
        return text.decode(errors="replace")

    assert re.search(r"\x1b\[31m +0\x1b\[0m", in_terminal())
    plain = in_terminal("set style enabled off")
    assert "heap_dump" in plain and "\x1b[31m" not in plain


def test_exclusions_count_on_their_own(demo: Path, tmp_path: Path) -> None:
    entries = tmp_path / "exclusions.yaml"
    entries.write_text(
        "- function: heap_dump\n  reason: for people at a debugger\n"
        "- file: demo/allocator.c\n  lines: 100-101\n  reason: cannot happen\n"
        "- function: no_such_function\n  reason: left from before\n"
    )
    before = ask(demo, "coverage")

    answer = ask(demo, "coverage", "--exclusions", entries)

    file = next(f for f in answer["files"] if f["path"].endswith("allocator.c"))
    reasons = {line["line"]: line["excluded"] for line in file["lines"] if "excluded" in line}
    assert reasons[100] == reasons[101] == "cannot happen"
    assert reasons[114] == reasons[121] == "for people at a debugger"
    assert answer["excluded"]["lines"] == {
        "covered": 0,
        "total": len(reasons),
        "partial": 0,
        "undecided": 0,
    }
    assert answer["excluded"]["functions"] == {"covered": 0, "total": 1}
    assert answer["totals"]["lines"]["total"] == before["totals"]["lines"]["total"] - len(reasons)
    assert answer["totals"]["lines"]["covered"] == before["totals"]["lines"]["covered"]
    assert any("no_such_function" in note for note in answer["notes"])


def test_moved_sources_are_found_and_missing_ones_still_have_numbers(
    demo: Path, tmp_path: Path
) -> None:
    shutil.copytree(FIRMWARE_DIRECTORY / "demo", tmp_path / "here" / "demo")
    there = tmp_path / "here"
    text = (there / "demo" / "main.c").read_text().splitlines()
    at = next(n for n, line in enumerate(text) if "panic(" in line and ";" in line)
    text[at] += " // gdbext: exclude ends the program"
    (there / "demo" / "main.c").write_text("\n".join(text))
    moved = f"{FIRMWARE_DIRECTORY}={there}"

    marked = ask(demo, "coverage", "main.c", "--source-map", moved)
    missing = gdbext(
        "list", demo, "malloc", "--source-map", f"{FIRMWARE_DIRECTORY}=/no", runtime=tmp_path
    )

    assert marked["files"][0]["path"] == str(there / "demo" / "main.c")
    reasons = {n["line"]: n["excluded"] for n in marked["files"][0]["lines"] if "excluded" in n}
    assert reasons == {at + 1: "ends the program"}
    assert "the file is not here" in missing.out
    assert re.search(r"^27,000 .*74$", missing.out, re.MULTILINE)


def test_without_debug_information_everything_but_lines_is_measured(tmp_path: Path) -> None:
    whole = firmware_path("features", "mps2-an385")
    bare = firmware_path("features", "mps2-an385", "nodebug")
    stripped = firmware_path("features", "mps2-an385", "stripped")
    recording = tmp_path / "t.rec"
    gdbext("record", whole, "--board", "mps2-an385", "-o", recording, runtime=tmp_path)

    full = ask(recording, "coverage", "--all")
    without_lines = ask(recording, "coverage", "--elf", bare)
    nameless = ask(recording, "coverage", "--elf", stripped)

    assert without_lines["files"] == []
    assert without_lines["totals"]["lines"]["total"] == 0
    for what in ("functions", "branches"):
        assert without_lines["totals"][what] == full["totals"][what]
    assert without_lines["totals"]["insns"]["covered"] == full["totals"]["insns"]["covered"]
    told = gdbext("coverage", recording, "--uncovered", "--elf", bare, runtime=tmp_path)
    assert "SysTick_Handler" in told.out
    assert any("stripped" in note for note in nameless["notes"])
    listed = gdbext("list", recording, "main", "--elf", bare, runtime=tmp_path)
    assert listed.status == 2
    assert "no source lines" in listed.err


def test_recording_that_was_cut_is_told_beside_its_coverage(demo: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.rec"
    cut.write_bytes(demo.read_bytes()[:-40])

    answer = ask(cut, "coverage", "--elf", firmware_path("demo", "mps2-an385", ""))

    assert any(note.startswith("the recording ends early") for note in answer["notes"])


def test_copies_of_a_line_add_up(tmp_path: Path) -> None:
    elf = firmware_path("features", "mps2-an385")
    gdbext("record", elf, "--board", "mps2-an385", "-o", tmp_path / "t.rec", runtime=tmp_path)

    answer = ask(tmp_path / "t.rec", "coverage", "--all")

    lines = [line for file in answer["files"] for line in file["lines"] if "copies" in line]
    assert len(lines) > 10
    for line in lines:
        counts = [copy["count"] for copy in line["copies"]]
        known = sum(count or 0 for count in counts)
        assert line["count"] == (known or (None if None in counts else 0))
        assert len({copy["address"] for copy in line["copies"]}) == len(line["copies"]) > 1
    templates = {copy["function"] for line in lines for copy in line["copies"]}
    assert {name for name in templates if "Ring<unsigned short" in name}
    assert {name for name in templates if "Ring<unsigned long" in name}


def test_unknown_name_is_one_line_with_what_it_may_be(demo: Path) -> None:
    done = gdbext("coverage", demo, "maloc", runtime=demo.parent)

    assert done.status == 2
    assert "no function and no source file 'maloc'" in done.err
    assert "did you mean malloc?" in done.err
    assert done.err.count("\n") == 1
