# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports are read by other tools, and their numbers are ours."""

from __future__ import annotations

import csv
import html
import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from gdbext.analyses.workspace import Workspace
from gdbext.coverage.filters import FileFilter
from gdbext.coverage.measure import Settings
from gdbext.coverage.model import Coverage, Totals
from gdbext.errors import TargetError
from gdbext.exporters import report
from gdbext.target.boards import load_board
from tests.integration.failures.small_disk import small_disk
from tests.support.firmware import FIRMWARE_DIRECTORY, firmware_path
from tests.support.gdb_session import gdb_batch
from tests.support.gdbext_cli import gdbext
from tests.support.qemu_runs import icount
from tests.support.scratch import scratch
from tests.truth.binutils import disassemble
from tests.truth.cobertura import read_cobertura
from tests.truth.drcov import read_drcov
from tests.truth.genhtml import Page, genhtml
from tests.truth.insnlog import run_logged

# Interrupts; C++, assembly, copies of functions; A32 conditions, so undecided lines.
PROGRAMS = [
    ("demo", "mps2-an385", ""),
    ("features", "mps2-an385", ""),
    ("basic", "vexpress-a9", "O2"),
]


@cache
def recorded(program: str, board: str, variant: str) -> tuple[Path, dict[str, Any]]:
    """A recording, and its coverage as JSON."""
    path = scratch() / "t.rec"
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
    for file in answer["files"] if report.pages else ():
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


@pytest.mark.parametrize(("program", "board", "variant"), [*PROGRAMS, ("basic", "virt-rv32", "O0")])
def test_lines_of_functions_in_lcov_have_code(
    program: str, board: str, variant: str, tmp_path: Path
) -> None:
    recording, _ = recorded(program, board, variant)
    export(recording, "lcov", tmp_path / "t.info")

    for section in (tmp_path / "t.info").read_text().split("end_of_record"):
        code = set(re.findall(r"^DA:(\d+),", section, re.MULTILINE))
        assert set(re.findall(r"^FN:(\d+),", section, re.MULTILINE)) <= code


def test_functions_that_share_a_name_stay_apart(tmp_path: Path) -> None:
    recording, answer = recorded("features", "mps2-an385", "")
    export(recording, "lcov", tmp_path / "t.info")

    report = genhtml(tmp_path / "t.info", tmp_path / "html")

    if not report.functions:
        pytest.skip("pages of genhtml 2 are not read")
    counts = Counter(function["count"] for function in with_line(answer, "functions"))
    assert Counter(n for hit in report.functions.values() for n in hit) == counts


@pytest.mark.parametrize(("program", "board", "variant"), PROGRAMS)
def test_gcovr_reads_our_numbers(program: str, board: str, variant: str, tmp_path: Path) -> None:
    recording, answer = recorded(program, board, variant)
    export(recording, "gcovr", tmp_path / "t.json")

    gcovr(tmp_path, "--cobertura", "t.xml", "--json-summary", "t.summary")

    totals, files = read_cobertura(tmp_path / "t.xml")
    branches = with_line(answer, "branches")
    lines = answer["totals"]["lines"]
    assert int(totals["lines-covered"]) == lines["covered"]
    assert int(totals["lines-valid"]) == lines["total"]
    assert int(totals["branches-covered"]) == seen(branches)
    assert int(totals["branches-valid"]) == 2 * len(branches)
    for file in answer["files"]:
        hits = next(hits for name, hits in files.items() if file["path"].endswith(f"/{name}"))
        assert hits == {line["line"]: line["count"] or 0 for line in file["lines"]}
    summary = json.loads((tmp_path / "t.summary").read_text())
    functions = with_line(answer, "functions")
    assert summary["function_total"] == len(functions)
    assert summary["function_covered"] == sum(function["covered"] for function in functions)


def gcovr(folder: Path, *words: str) -> None:
    """Run gcovr on `t.json` of the folder; skips without it. A warning is a failure."""
    tool = Path(sys.prefix, "bin", "gcovr")
    if not tool.exists():
        pytest.skip("gcovr is not installed here")
    done = subprocess.run(
        [tool, "--root", FIRMWARE_DIRECTORY, "--add-tracefile", "t.json", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "(WARNING)" not in done.stderr, done.stderr


def test_gcovr_writes_other_formats_of_it(tmp_path: Path) -> None:
    recording, answer = recorded("demo", "mps2-an385", "")
    export(recording, "gcovr", tmp_path / "t.json")

    gcovr(tmp_path, "--sonarqube", "s.xml", "--jacoco", "j.xml", "--coveralls", "c.json")

    lines = [line for file in answer["files"] for line in file["lines"]]
    sonar = ElementTree.parse(tmp_path / "s.xml").getroot()
    covered = [row.attrib["covered"] == "true" for row in sonar.iter("lineToCover")]
    assert (len(covered), sum(covered)) == (len(lines), sum(line["count"] > 0 for line in lines))
    jacoco = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert len(list(jacoco.iter("line"))) == len(lines)
    coveralls = json.loads((tmp_path / "c.json").read_text())["source_files"]
    counts = [n for file in coveralls for n in file["coverage"] if n is not None]
    assert sorted(counts) == sorted(line["count"] for line in lines)


def test_excluded_lines_do_not_count_in_gcovr(tmp_path: Path) -> None:
    recording, answer = recorded("demo", "mps2-an385", "")
    entries = tmp_path / "exclusions.yaml"
    entries.write_text("- {function: heap_dump, reason: for people at a debugger}\n")
    asked = gdbext(
        *("coverage", recording, "--exclusions", entries, "--json"), runtime=recording.parent
    )
    export(recording, "gcovr", tmp_path / "t.json", "--exclusions", entries)

    gcovr(tmp_path, "--json-summary", "t.summary")

    summary = json.loads((tmp_path / "t.summary").read_text())
    totals = json.loads(asked.out)["totals"]
    assert totals["lines"]["total"] < answer["totals"]["lines"]["total"]
    for what, name in (("lines", "line"), ("functions", "function"), ("branches", "branch")):
        assert summary[f"{name}_total"] == totals[what]["total"]
        assert summary[f"{name}_covered"] == totals[what]["covered"]


def test_csv_has_every_line(tmp_path: Path) -> None:
    recording, answer = recorded("basic", "vexpress-a9", "O2")
    export(recording, "csv", tmp_path / "t.csv")

    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    lines = [(f["path"], line) for f in answer["files"] for line in f["lines"]]
    assert [
        (row["file"], int(row["line"]), row["count"], row["state"], int(row["insns_total"]))
        for row in rows
    ] == [
        (
            path,
            line["line"],
            "" if line["count"] is None else str(line["count"]),
            line["state"],
            line["insns"]["total"],
        )
        for path, line in lines
    ]
    branches = with_line(answer, "branches")
    assert sum(int(row["branches_total"]) for row in rows) == 2 * len(branches)
    assert sum(int(row["branches_covered"]) for row in rows) == seen(branches)


@pytest.mark.parametrize(
    ("program", "board_name", "variant"),
    [("midblock", "mps2-an385", ""), ("basic", "virt-rv32", "O2")],
)
def test_drcov_and_offsets_are_what_qemu_logged(
    program: str, board_name: str, variant: str, tmp_path: Path
) -> None:
    board = load_board(board_name)
    elf = firmware_path(program, board_name, variant)
    extra = icount(board)
    recording = tmp_path / "t.rec"
    gdbext(*("record", elf, "--board", board_name, "-o", recording, "--", *extra), runtime=tmp_path)
    export(recording, "drcov", tmp_path / "t.drcov")
    export(recording, "offsets", tmp_path / "t.offsets")
    logged = run_logged(board, elf, extra)
    code = disassemble(elf, board.target)
    ran = {a for vcpu in logged.vcpus for a in vcpu if a in code}

    read = read_drcov(tmp_path / "t.drcov")
    rows = (tmp_path / "t.offsets").read_text().splitlines()

    assert len(read.modules) == 1
    assert read.modules[0].path == str(elf)
    base = read.modules[0].base
    assert {a for a in read.addresses() if a in code} == ran
    assert len(rows) == len(set(rows))
    offsets = {base + int(row.removeprefix(f"{elf.name}+"), 16) for row in rows}
    assert offsets & code.keys() == ran


def test_filters_of_lines_do_not_go_with_addresses(tmp_path: Path) -> None:
    recording, _ = recorded("demo", "mps2-an385", "")

    done = gdbext(
        *("export", recording, "--format", "drcov", "-o", tmp_path / "t", "--include", "main.c"),
        runtime=tmp_path,
    )

    assert done.status == 2
    assert "--include does not go with --format drcov" in done.err


def test_report_is_written_in_one_command(tmp_path: Path) -> None:
    recording, answer = recorded("demo", "mps2-an385", "")
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "mine.txt").write_text("kept")

    done = gdbext("coverage", recording, "--html", tmp_path / "html", runtime=tmp_path)

    assert done.status == 0, done.err
    assert f"{tmp_path}/html/index.html: written by gcovr" in done.err
    assert {path.name for path in tmp_path.iterdir() if path.name != "gdbext-0"} == {"html"}
    text = (tmp_path / "html" / "index.html").read_text()
    lines = answer["totals"]["lines"]
    assert re.search(rf"{lines['covered']}\s*/\s*{lines['total']}", plain(text))
    page = next((tmp_path / "html").glob("index.allocator.c.*.html")).read_text()
    assert "27000 while ( block != NULL" not in plain(page)
    assert "93000 while ( block != NULL" in plain(page)
    assert (tmp_path / "html" / "mine.txt").read_text() == "kept"


def plain(page: str) -> str:
    """The text of an HTML page, one space between words."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


@pytest.mark.parametrize("tool", ["gcovr", "genhtml"])
def test_report_does_without_sources(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Either tool is enough, and numbers do not need the files."""
    recording, answer = recorded("demo", "mps2-an385", "")
    only = report._program(tool)
    if only is None:
        pytest.skip(f"{tool} is not installed")
    monkeypatch.setattr(report, "_program", lambda name: only if name == tool else None)
    workspace = Workspace(recording, None)
    workspace.refresh()
    moved = FileFilter(renames=((str(FIRMWARE_DIRECTORY), "/no/such"),))
    coverage = workspace.coverage(Settings(moved))

    used = report.write_report(coverage, {}, tmp_path / "html", "title")

    assert used == tool
    text = plain((tmp_path / "html" / "index.html").read_text())
    lines = answer["totals"]["lines"]
    assert re.search(
        rf"{lines['covered']}\s*/?\s*{lines['total']}|{lines['total']} {lines['covered']}", text
    )


def test_report_without_a_tool_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_program", lambda name: None)

    with pytest.raises(TargetError, match=r"needs gcovr .* or genhtml"):
        report.write_report(Coverage((), Totals()), {}, tmp_path / "html", "title")

    assert not (tmp_path / "html").exists()


def test_report_on_a_full_disk_is_one_line_and_no_page(tmp_path: Path) -> None:
    recording, _ = recorded("demo", "mps2-an385", "")
    with small_disk(tmp_path / "disk", "64k") as disk:
        done = gdbext("coverage", recording, "--html", disk.path / "html", runtime=tmp_path)

        assert list(disk.path.iterdir()) == []
    assert done.status == 1
    assert done.err.count("\n") == 1
    assert "No space left on device" in done.err


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
