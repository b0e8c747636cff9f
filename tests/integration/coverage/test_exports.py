# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports are read by other tools, and their numbers are ours."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from tests.integration.failures.small_disk import small_disk
from tests.support.firmware import firmware_path
from tests.support.gdb_session import gdb_batch
from tests.support.gdbext_cli import gdbext
from tests.truth.genhtml import Page, genhtml

# Interrupts; C++, assembly, copies of functions; A32 conditions, so undecided lines.
PROGRAMS = [
    ("demo", "mps2-an385", ""),
    ("features", "mps2-an385", ""),
    ("basic", "vexpress-a9", "O2"),
]


@cache
def recorded(program: str, board: str, variant: str) -> tuple[Path, dict[str, Any]]:
    """A recording, and its coverage as JSON."""
    path = Path(mkdtemp()) / "t.rec"
    elf = firmware_path(program, board, variant)
    done = gdbext("record", elf, "--board", board, "-o", path, runtime=path.parent)
    assert path.is_file(), done.err
    asked = gdbext("coverage", path, "--json", runtime=path.parent)
    assert asked.status == 0, asked.err
    return path, json.loads(asked.out)


def export(recording: Path, kind: str, out: Path, *words: object) -> str:
    """Write the file; what was said."""
    done = gdbext(
        "export", recording, "--format", kind, "-o", out, *words, runtime=recording.parent
    )
    assert done.status == 0, done.err
    return done.out


def with_line(answer: dict[str, Any], what: str) -> list[dict[str, Any]]:
    """Functions or branches of all files that have a line."""
    return [each for file in answer["files"] for each in file[what] if each["line"] is not None]


def seen(branches: list[dict[str, Any]]) -> int:
    """Outcomes of branches that were seen."""
    return sum((b["taken"] > 0) + (b["not_taken"] > 0) for b in branches)


@pytest.mark.parametrize(("program", "board", "variant"), PROGRAMS)
def test_genhtml_shows_our_numbers(program: str, board: str, variant: str, tmp_path: Path) -> None:
    recording, answer = recorded(program, board, variant)
    export(recording, "lcov", tmp_path / "t.info")

    report = genhtml(tmp_path / "t.info", tmp_path / "html")

    branches = with_line(answer, "branches")
    functions = with_line(answer, "functions")
    lines = answer["totals"]["lines"]
    assert report.totals["lines"] == (lines["covered"], lines["total"])
    assert report.totals["branches"] == (seen(branches), 2 * len(branches))
    assert report.totals["functions"] == (
        sum(function["covered"] for function in functions),
        len(functions),
    )
    for file in answer["files"]:
        page = page_of(report.pages, file["path"])
        assert page.lines == {line["line"]: line["count"] or 0 for line in file["lines"]}
        assert page.branches == shown_branches(file["branches"])


def page_of(pages: dict[str, Page], path: str) -> Page:
    """The page of a source file; genhtml leaves out the folders that all files share."""
    found = [page for end, page in pages.items() if path.endswith(f"/{end}")]
    assert len(found) == 1, (path, list(pages))
    return found[0]


def shown_branches(branches: list[dict[str, Any]]) -> dict[int, list[int | None]]:
    """By line, taken and not taken of each branch instruction; None where it never ran."""
    shown: dict[int, list[int | None]] = {}
    for branch in branches:
        if branch["line"] is not None:
            ways = branch["taken"], branch["not_taken"]
            ran = any(ways) or branch["unknown"]
            shown.setdefault(branch["line"], []).extend(ways if ran else (None, None))
    return shown


def test_functions_that_share_a_name_stay_apart(tmp_path: Path) -> None:
    recording, answer = recorded("features", "mps2-an385", "")
    export(recording, "lcov", tmp_path / "t.info")

    report = genhtml(tmp_path / "t.info", tmp_path / "html")

    counts = Counter(function["count"] for function in with_line(answer, "functions"))
    assert Counter(n for hit in report.functions.values() for n in hit) == counts


def test_excluded_lines_are_not_in_lcov(tmp_path: Path) -> None:
    recording, answer = recorded("demo", "mps2-an385", "")
    entries = tmp_path / "exclusions.yaml"
    entries.write_text("- {function: heap_dump, reason: for people at a debugger}\n")
    export(recording, "lcov", tmp_path / "t.info", "--exclusions", entries)

    report = genhtml(tmp_path / "t.info", tmp_path / "html")

    assert "heap_dump" not in report.functions
    assert "heap_dump" in {function["name"] for function in with_line(answer, "functions")}
    hit, found = report.totals["lines"]
    assert hit == answer["totals"]["lines"]["covered"]
    assert found < answer["totals"]["lines"]["total"]


def test_export_from_gdb_is_the_same_file(tmp_path: Path) -> None:
    recording, _ = recorded("demo", "mps2-an385", "")
    export(recording, "lcov", tmp_path / "outside.info")

    done = gdb_batch(
        f"trace load {recording}",
        f"trace export --format lcov -o {tmp_path}/inside.info",
        runtime=tmp_path,
        elf=firmware_path("demo", "mps2-an385", ""),
    )

    assert (tmp_path / "inside.info").read_bytes() == (tmp_path / "outside.info").read_bytes()
    assert "inside.info: " in done.out


def test_full_disk_leaves_the_old_file_and_one_line(tmp_path: Path) -> None:
    recording, _ = recorded("demo", "mps2-an385", "")
    with small_disk(tmp_path / "disk", "8k") as disk:
        (disk.path / "t.info").write_text("from before\n")
        done = gdbext(
            *("export", recording, "--format", "lcov", "-o", disk.path / "t.info"),
            runtime=tmp_path,
        )

        assert (disk.path / "t.info").read_text() == "from before\n"
        assert [path.name for path in disk.path.iterdir()] == ["t.info"]
    assert done.status == 1
    assert done.err.count("\n") == 1
    assert "t.info: cannot be written: No space left on device" in done.err


def test_program_without_lines_is_refused(tmp_path: Path) -> None:
    recording, _ = recorded("features", "mps2-an385", "")
    bare = firmware_path("features", "mps2-an385", "nodebug")

    done = gdbext(
        *("export", recording, "--elf", bare, "--format", "lcov", "-o", tmp_path / "t.info"),
        runtime=tmp_path,
    )

    assert done.status == 1
    assert done.err.count("\n") == 1
    assert "no source lines" in done.err
    assert not (tmp_path / "t.info").exists()
