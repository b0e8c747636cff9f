# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of 4,000 functions, of which it is known how often each runs."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.firmware import build_big
from tests.support.gdbext_cli import gdbext
from tests.truth.binutils import functions

N_FUNCTIONS = 4000
LINES_EACH = 4


class Run(NamedTuple):
    """What the program calls, and what coverage says."""

    recording: Path
    elf: Path
    calls: list[int]
    """Times that each function is called."""
    answer: dict[str, Any]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Functions with a branch each, called as drawn by lot."""
    folder = tmp_path_factory.mktemp("many")
    lot = random.Random(4000)
    calls = [lot.choice((0, 0, 1, 2, 3)) for _ in range(N_FUNCTIONS)]
    (folder / "many.c").write_text(
        "".join(
            f"unsigned many_{n}(unsigned v)\n{{\n"
            f"    return v & 1 ? v * {n + 3}u : (many_sink += v);\n}}\n"
            for n in range(N_FUNCTIONS)
        )
    )
    (folder / "main.c").write_text(
        "unsigned many_sink;\nint __real_main(void);\nint __wrap_main(void);\n"
        + "".join(f"unsigned many_{n}(unsigned v);\n" for n in range(N_FUNCTIONS))
        + "int __wrap_main(void)\n{\n"
        + "".join(
            f"    many_sink += many_{n}({i}u);\n"
            for n, count in enumerate(calls)
            for i in range(count)
        )
        + "    return __real_main();\n}\n"
    )
    text = (folder / "many.c").read_text()
    (folder / "many.c").write_text(f"extern unsigned many_sink; {text}")
    elf = build_big(folder)
    recording = folder / "t.rec"
    done = gdbext("record", elf, "--board", "mps2-an385", "-o", recording, runtime=folder)
    assert done.status == 0, done.err
    asked = gdbext("coverage", recording, "--include", "many.c", "--json", runtime=folder)
    assert asked.status == 0, asked.err
    return Run(recording, elf, calls, json.loads(asked.out))


def test_functions_are_all_there_with_their_calls(run: Run) -> None:
    (file,) = run.answer["files"]

    assert {function["name"]: function["count"] for function in file["functions"]} == {
        f"many_{n}": count for n, count in enumerate(run.calls)
    }
    addresses = {f.name: f.address for f in functions(run.elf, "arm")}
    assert all(f["address"] == addresses[f["name"]] for f in file["functions"])
    assert run.answer["totals"]["functions"] == {
        "covered": sum(count > 0 for count in run.calls),
        "total": N_FUNCTIONS,
    }


def test_lines_of_called_functions_ran_and_no_others(run: Run) -> None:
    (file,) = run.answer["files"]

    ran = {line["line"] for line in file["lines"] if line["state"] != "uncovered"}
    assert {(line - 1) // LINES_EACH for line in ran} == {
        n for n, count in enumerate(run.calls) if count
    }
    # The first line of code of each function: all its calls.
    first: dict[int, int] = {}
    for line in file["lines"]:
        first.setdefault((line["line"] - 1) // LINES_EACH, line["count"])
    assert first == dict(enumerate(run.calls))


def test_what_is_kept_gives_the_same_answer(run: Run) -> None:
    again = gdbext(
        "coverage", run.recording, "--include", "many.c", "--json", runtime=run.recording.parent
    )

    assert json.loads(again.out) == run.answer


def test_table_has_all_lines(run: Run, tmp_path: Path) -> None:
    (file,) = run.answer["files"]
    gdbext(
        *("export", run.recording, "--format", "csv", "--include", "many.c"),
        *("-o", tmp_path / "t.csv"),
        runtime=tmp_path,
    )

    with (tmp_path / "t.csv").open(newline="") as table:
        rows = {int(row["line"]): row["state"] for row in csv.DictReader(table)}
    assert rows == {line["line"]: line["state"] for line in file["lines"]}
