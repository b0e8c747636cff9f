# SPDX-License-Identifier: GPL-2.0-or-later
"""`merge` and `diff`: several recordings together, of one build and of several."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gdbext.target.boards import load_board
from tests.integration.test_questions import objects
from tests.support.firmware import FIRMWARE_DIRECTORY, firmware_path
from tests.support.gdb_session import gdb_batch, need_gdb
from tests.support.gdbext_cli import gdbext
from tests.support.qemu_runs import icount
from tests.support.scratch import scratch
from tests.truth.genhtml import genhtml

BOARD = "mps2-an385"


@cache
def recorded(program: str, variant: str, *words: str) -> Path:
    """A repeatable recording."""
    path = scratch() / f"{program}{variant}.rec"
    elf = firmware_path(program, BOARD, variant)
    extra = icount(load_board(BOARD))
    done = gdbext(
        *("record", elf, "--board", BOARD, "-o", path, *words, "--", *extra), runtime=path.parent
    )
    assert path.is_file(), done.err
    return path


def ask(verb: str, *words: object) -> dict[str, Any]:
    """The JSON answer."""
    done = gdbext(verb, *words, "--json", runtime=scratch())
    assert done.status == 0, done.err
    answer: dict[str, Any] = json.loads(done.out)
    assert answer["schema"] == f"gdbext/{verb}/1"
    return answer


def covered_lines(answer: dict[str, Any]) -> set[tuple[str, int]]:
    """Path and number."""
    return {
        (file["path"], line["line"])
        for file in answer["files"]
        for line in file["lines"]
        if line["state"] in ("covered", "partial")
    }


def all_lines(answer: dict[str, Any]) -> set[tuple[str, int]]:
    """Lines that have code."""
    return {(file["path"], line["line"]) for file in answer["files"] for line in file["lines"]}


def covered_functions(answer: dict[str, Any]) -> set[tuple[str, str]]:
    """Path and name."""
    return {
        (file["path"], function["name"])
        for file in answer["files"]
        for function in file["functions"]
        if function["covered"]
    }


def outcomes(answer: dict[str, Any]) -> set[tuple[int, str]]:
    """Address and way."""
    return {
        (branch["address"], way)
        for file in answer["files"]
        for branch in file["branches"]
        for way in ("taken", "not_taken")
        if branch[way]
    }


def sizes(lines: set[Any], functions: set[Any], branches: set[Any]) -> dict[str, int]:
    """As contributions have them."""
    return {"lines": len(lines), "functions": len(functions), "branches": len(branches)}


def test_two_halves_of_a_run_are_the_whole_run(tmp_path: Path) -> None:
    """Cut within a recursion, of a program without interrupts: these depend on when it stops."""
    elf = firmware_path("coverage", BOARD, "O0")
    whole = ask("coverage", recorded("coverage", "O0"))
    need_gdb()
    commands = ["trace start", "break factorial", "continue", "continue", "continue", "delete"]
    commands += ["trace dump a.rec", "trace clear", "continue", "trace dump b.rec"]
    words = ["-nx", "-batch", *(word for command in commands for word in ("-ex", command))]
    halves = gdbext(
        *("debug", elf, "--board", BOARD, f"--gdb-args={shlex.join(words)}"),
        *("--", *icount(load_board(BOARD))),
        runtime=tmp_path,
        cwd=tmp_path,
    )
    assert (tmp_path / "b.rec").is_file(), halves.err

    merged = ask("merge", tmp_path / "a.rec", tmp_path / "b.rec")

    for kind in ("lines", "branches", "functions"):
        for ours, theirs in zip(merged["files"], whole["files"], strict=True):
            shown = [{k: v for k, v in row.items() if k != "recordings"} for row in ours[kind]]
            assert shown == theirs[kind]
    assert merged["totals"] == whole["totals"]


def test_contributions_are_what_each_recording_covers_alone() -> None:
    paths = [
        recorded("basic", "O0", "--insns", "2000"),
        recorded("basic", "O0"),
        recorded("basic", "O0", "--insns", "9000"),
    ]
    alone = [ask("coverage", path) for path in paths]

    merged = ask("merge", *paths)

    assert len(merged["builds"]) == 1
    sets: list[tuple[set[Any], ...]] = [
        (covered_lines(a), covered_functions(a), outcomes(a)) for a in alone
    ]
    nothing: set[Any] = set()
    for number, shown in enumerate(merged["recordings"]):
        before = [nothing.union(*(s[kind] for s in sets[:number])) for kind in range(3)]
        others = [
            nothing.union(*(s[kind] for n, s in enumerate(sets) if n != number))
            for kind in range(3)
        ]
        own = sets[number]
        assert shown["recording"] == str(paths[number])
        assert shown["totals"] == alone[number]["totals"]
        assert shown["added"] == sizes(*(a - b for a, b in zip(own, before, strict=True)))
        assert shown["only"] == sizes(*(a - b for a, b in zip(own, others, strict=True)))
    assert merged["recordings"][1]["added"]["lines"] > 0
    for file in merged["files"]:
        for line in file["lines"]:
            place = (file["path"], line["line"])
            assert line["recordings"] == [n for n, s in enumerate(sets) if place in s[0]]


def test_builds_are_united_by_line_and_name(tmp_path: Path) -> None:
    paths = [recorded("basic", "O0", "--insns", "20000"), recorded("basic", "O2")]
    alone = [ask("coverage", path) for path in paths]

    merged = ask("merge", *paths)

    assert len(merged["builds"]) == 2
    assert covered_lines(merged) == covered_lines(alone[0]) | covered_lines(alone[1])
    assert covered_lines(alone[0]) - covered_lines(alone[1])
    assert covered_lines(alone[1]) - covered_lines(alone[0])
    assert all_lines(merged) == all_lines(alone[0]) | all_lines(alone[1])
    assert covered_functions(merged) == covered_functions(alone[0]) | covered_functions(alone[1])
    lines = merged["totals"]["lines"]
    assert lines["covered"] == len(covered_lines(merged))
    assert lines["total"] == len(all_lines(merged))
    for what in ("insns", "branches"):
        assert merged["totals"][what]["total"] == sum(a["totals"][what]["total"] for a in alone)
    assert any("2 builds" in note for note in merged["notes"])

    gdbext("merge", *paths, "--format", "lcov", "-o", tmp_path / "t.info", runtime=tmp_path)
    report = genhtml(tmp_path / "t.info", tmp_path / "html")
    assert report.totals["lines"] == (lines["covered"], lines["total"])


def test_lcov_has_a_section_for_each_test_and_they_add_up(tmp_path: Path) -> None:
    paths = [recorded("basic", "O0", "--insns", "9000"), recorded("basic", "O0")]
    merged = ask("merge", *paths, paths[0])

    gdbext(
        *("merge", *paths, paths[0], "--format", "lcov", "-o", tmp_path / "t.info"),
        runtime=tmp_path,
    )

    text = (tmp_path / "t.info").read_text()
    names = re.findall(r"^TN:(.*)$", text, re.MULTILINE)
    assert names == ["basicO0", "basicO0_2", "basicO0_3"]
    summed: Counter[tuple[str, int]] = Counter()
    path = ""
    for kind, value in re.findall(r"^(SF|DA):(.*)$", text, re.MULTILINE):
        if kind == "SF":
            path = value
        else:
            line, count = value.split(",")
            summed[path, int(line)] += int(count)
    assert summed == {
        (file["path"], line["line"]): line["count"] or 0
        for file in merged["files"]
        for line in file["lines"]
    }
    report = genhtml(tmp_path / "t.info", tmp_path / "html")
    lines = merged["totals"]["lines"]
    assert report.totals["lines"] == (lines["covered"], lines["total"])
    functions = merged["totals"]["functions"]
    assert report.totals["functions"] == (functions["covered"], functions["total"])


def test_copy_without_debug_information_is_the_same_build(tmp_path: Path) -> None:
    whole = firmware_path("features", BOARD)
    bare = firmware_path("features", BOARD, "nodebug")
    recording = recorded("features", "")

    merged = ask("merge", recording, recording, "--elf", bare, "--elf", whole)

    alone = ask("coverage", recording)
    assert [build["elf"] for build in merged["builds"]] == [str(whole)]
    assert covered_lines(merged) == covered_lines(alone)
    assert {line["count"] for f in merged["files"] for line in f["lines"]} == {
        None if line["count"] is None else 2 * line["count"]
        for f in alone["files"]
        for line in f["lines"]
    }


def test_stripped_program_knows_the_functions_of_all_recordings() -> None:
    bare = firmware_path("features", BOARD, "stripped")
    paths = [recorded("features", "", "--insns", "300"), recorded("features", "")]
    alone = [ask("coverage", path, "--elf", bare) for path in paths]

    merged = ask("merge", *paths, "--elf", bare)

    ours, few, all_of_them = (
        {function["address"] for function in answer["no_source"]["functions"]}
        for answer in (merged, *alone)
    )
    assert ours == all_of_them
    assert few < ours


def test_difference_is_what_one_covers_and_the_other_does_not() -> None:
    paths = recorded("demo", ""), recorded("demo", "", "--insns", "20000")
    alone = [ask("coverage", path) for path in paths]

    answer = ask("diff", *paths)

    assert answer["same_code"]
    for part, own, other in (("only_first", 0, 1), ("only_second", 1, 0)):
        files = answer[part]["files"]
        lines = {(file["path"], line["line"]) for file in files for line in file["lines"]}
        functions = {(file["path"], f["name"]) for file in files for f in file["functions"]}
        branches = {(b["address"], b["outcome"]) for file in files for b in file["branches"]}
        assert lines == covered_lines(alone[own]) - covered_lines(alone[other])
        assert functions == covered_functions(alone[own]) - covered_functions(alone[other])
        assert branches == outcomes(alone[own]) - outcomes(alone[other])
        assert answer[part]["totals"] == sizes(lines, functions, branches)
    assert answer["only_first"]["totals"]["lines"] > 40
    assert not answer["only_second"]["files"]


def test_difference_of_builds_tells_lines_without_code() -> None:
    paths = recorded("basic", "O0"), recorded("basic", "O2")
    alone = [ask("coverage", path) for path in paths]

    answer = ask("diff", *paths)

    assert not answer["same_code"]
    lines = {
        (file["path"], line["line"]): line["other"]
        for file in answer["only_first"]["files"]
        for line in file["lines"]
    }
    assert lines.keys() == covered_lines(alone[0]) - covered_lines(alone[1])
    assert {place for place, other in lines.items() if other is None} == (
        lines.keys() - all_lines(alone[1])
    )
    assert not any(file["branches"] for file in answer["only_first"]["files"])


def test_difference_in_gdb_is_the_same(tmp_path: Path) -> None:
    first, second = recorded("demo", ""), recorded("demo", "", "--insns", "20000")
    outside = ask("diff", first, second)

    done = gdb_batch(
        f"trace load {first}",
        f"trace diff {second} --json",
        f"trace diff {first} {second} --json",
        runtime=tmp_path,
        elf=firmware_path("demo", BOARD, ""),
    )

    loaded, named = objects(done.out)
    assert named == outside
    assert loaded == {**outside, "first": first.name}


def test_differences_are_shown_by_file() -> None:
    first, second = recorded("demo", ""), recorded("demo", "", "--insns", "20000")

    done = gdbext("diff", first, second, runtime=first.parent)
    few = gdbext("diff", first, second, "--top", 2, runtime=first.parent)

    assert "demo.rec did not: nothing" in done.out
    source = (FIRMWARE_DIRECTORY / "demo" / "allocator.c").read_text().splitlines()
    assert f"heap_in_use:{source.index('size_t heap_in_use(void)') + 1} (1×)" in done.out
    rows = [row for row in done.out.splitlines() if row.startswith("    ")]
    assert [row for row in few.out.splitlines() if row.startswith("    ")] == rows[:2]
    assert f"({len(rows) - 2} more rows; --top N shows more)" in few.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["diff", "a.rec"], "1 recordings; give two"),
        (["merge", "a.rec", "b.rec", "--elf", "x", "--elf", "y", "--elf", "z"], "3 programs"),
        (["merge", "a.rec", "-o", "t.info"], "--format and -o go together"),
        (["merge", "no-such.rec"], "no-such.rec: cannot be read"),
    ],
)
def test_wrong_words_are_one_line(words: list[str], message: str, tmp_path: Path) -> None:
    done = gdbext(*words, runtime=tmp_path, cwd=tmp_path)

    assert done.status in (1, 2)
    assert message in done.err
    assert done.err.count("\n") == 1


def test_limits_are_of_all_recordings_together() -> None:
    short, whole = recorded("demo", "", "--insns", "20000"), recorded("demo", "")

    few = gdbext("merge", short, "--fail-under-lines", "70", runtime=short.parent)
    all_of_them = gdbext("merge", short, whole, "--fail-under-lines", "70", runtime=short.parent)

    assert (few.status, all_of_them.status) == (3, 0)
