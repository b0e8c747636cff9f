# SPDX-License-Identifier: GPL-2.0-or-later
"""Decisions whose branches cannot be told to be their conditions: listed, never counted."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_questions import objects
from tests.support.firmware import FIRMWARE_DIRECTORY, build_given
from tests.support.gdb_session import gdb_batch
from tests.support.gdbext_cli import gdbext

HARD = FIRMWARE_DIRECTORY / "decisions" / "hard.c"
TEXT = HARD.read_text().splitlines()
RUNS = [
    ("mps2-an385", "O0"),
    ("mps2-an385", "O2"),
    ("virt-rv32", "O0"),
    ("virt-rv32", "Og"),
]


@dataclass(frozen=True)
class Run:
    """A program's run."""

    level: str
    recording: Path
    elf: Path
    answer: dict[str, Any]
    """The JSON of hard.c's conditions."""

    @property
    def file(self) -> dict[str, Any]:
        """Its only file."""
        (file,) = self.answer["files"]
        assert isinstance(file, dict)
        return file


@pytest.fixture(scope="module")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One of them."""
    return run_of("mps2-an385", "O0", tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module", params=RUNS, ids="-".join)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Each board and level."""
    board, level = request.param
    return run_of(board, level, tmp_path_factory.mktemp("hard"))


def run_of(board: str, level: str, folder: Path) -> Run:
    """Build and record hard.c, and ask for its conditions."""
    source = folder / "decisions.c"
    shutil.copy(HARD, source)
    elf = build_given(source, board, level, "decisions")
    recording = folder / "t.rec"
    done = gdbext("record", elf, "--board", board, "-o", recording, runtime=folder)
    assert done.status == 0, done.err
    done = gdbext("coverage", recording, "decisions.c", "--conditions", "--json", runtime=folder)
    assert done.status == 0, done.err
    return Run(level, recording, elf, json.loads(done.out)["conditions"])


def test_marked_decisions_are_listed_with_a_reason_and_counted_nowhere(run: Run) -> None:
    if run.level == "O2":
        assert not run.file["decisions"]
        return  # some have no code any more
    marked = {
        number
        for number, text in enumerate(TEXT, 1)
        if "UNPROVEN */" in text or (run.level != "O0" and "UNPROVEN -Og */" in text)
    }
    assert len(marked) > 8

    first_proven: dict[int, int] = {}
    for decision in run.file["decisions"]:
        at = first_proven.setdefault(decision["line"], decision["column"])
        first_proven[decision["line"]] = min(at, decision["column"])
    listed = {d["line"]: d for d in reversed(run.file["not_provable"])}

    for line in marked:
        assert line in listed, TEXT[line - 1]
        assert listed[line]["reason"]
        # What is inside of one may be a decision of its own, which can be told.
        assert first_proven.get(line, 1000) > listed[line]["column"], TEXT[line - 1]


def test_totals_are_those_of_what_is_proven(run: Run) -> None:
    decisions = run.file["decisions"]
    conditions = [c for decision in decisions for c in decision["conditions"]]
    totals = run.answer["totals"]

    assert totals["decisions"] == len(decisions)
    assert totals["not_provable"] == len(run.file["not_provable"])
    assert totals["conditions"]["total"] == 2 * len(conditions)
    assert totals["mcdc"] == {
        "covered": sum(c["mcdc"] for c in conditions),
        "total": len(conditions),
    }


def test_every_decision_is_proven_or_listed(run: Run) -> None:
    if run.level == "O2":
        return
    seen = {d["line"] for d in run.file["decisions"] + run.file["not_provable"]}
    for number, text in enumerate(TEXT, 1):
        if not re.match(r" +(?:if|while) \(|    } while \(", text):
            continue
        if text.endswith("(a && b) {") and TEXT[number].strip() == "}":
            continue  # it has no body: there is no code
        assert number in seen, text


def test_a_switch_is_no_decision(run: Run) -> None:
    lines = [d["line"] for d in run.file["decisions"] + run.file["not_provable"]]
    switch = next(n for n, text in enumerate(TEXT, 1) if "switch (" in text)

    assert not {switch, switch + 1, switch + 2} & set(lines)


def test_optimised_code_has_no_provable_decision(run: Run) -> None:
    if run.level == "O2":
        assert not run.file["decisions"]
        assert any("-O2" in d["reason"] for d in run.file["not_provable"])
    else:
        assert run.file["decisions"]
        assert not any("optimised" in d["reason"] for d in run.file["not_provable"])


def plain() -> dict[str, Counter[str]]:
    """The function `plain` of hard.c for all its inputs: vectors by decision."""
    found: dict[str, Counter[str]] = {}

    def decide(name: str, *values: bool | None) -> None:
        letters = "".join("-" if value is None else "FT"[value] for value in values)
        found.setdefault(name, Counter())[letters] += 1

    for i in range(16):
        a, b, n = i & 1, i >> 1 & 1, 0
        while True:
            first = n < 5
            second = bool(a) if first else None
            third = bool(b) if first and not a else None
            decide("n < LIMIT && (a || b)", first, second, third)
            if not (first and (second or third)):
                break
            n, a = n + 1, 0
        while True:
            zero = n == 0
            is_b = b == 1 if not zero else None
            rest = bool(n) if not (zero or is_b) else None
            decide("!(n == 0 || is(b)) && n", zero, is_b, rest)
            if not rest:
                break
            n -= 1
        while True:
            n += 1
            few = n < 3
            decide("n < 3 && a", few, bool(a) if few else None)
            if not (few and a):
                break
        while True:
            one = a == 1
            little = n < 2 if not one else None
            n += 0 if one else 1
            decide("is(a) || n++ < 2", one, little)
            if not (one or little):
                break
        decide("a == 1 && !b", a == 1, bool(b) if a == 1 else None)
    return found


def test_what_looks_hard_but_can_be_told_is_measured(run: Run) -> None:
    truth = plain()
    proven = {
        d["text"]: Counter({v["values"]: v["count"] for v in d["vectors"]})
        for d in run.file["decisions"]
        if d["function"] == "plain"
    }

    if run.level == "O0":
        assert proven.keys() == truth.keys()
    for text, vectors in proven.items():
        assert vectors == truth[text], text


def test_limits_are_compared_with_what_is_provable(plain_run: Run) -> None:
    run = plain_run
    totals = run.answer["totals"]
    folder = run.recording.parent
    for what in ("conditions", "mcdc"):
        covered, total = totals[what]["covered"], totals[what]["total"]
        percent = 100 * covered / total
        kept = f"{int(percent)}"
        broken = f"{int(percent) + 1}"
        for limit, status in ((kept, 0), (broken, 3)):
            done = gdbext(
                "coverage", run.recording, "decisions.c", f"--fail-under-{what}", limit,
                runtime=folder,
            )  # fmt: skip
            assert done.status == status, done.err
        assert what in done.err


def test_limits_are_not_kept_where_nothing_is_provable(run: Run) -> None:
    if run.level != "O2":
        return
    done = gdbext(
        "coverage", run.recording, "decisions.c", "--fail-under-mcdc", "1",
        runtime=run.recording.parent,
    )  # fmt: skip

    assert done.status == 3
    assert "mcdc: no decision is provable" in done.err


def test_answers_are_equal_in_gdb(plain_run: Run) -> None:
    run = plain_run
    loaded = gdb_batch(
        f"trace load {run.recording}",
        "trace coverage decisions.c --conditions --json",
        runtime=run.recording.parent,
        elf=run.elf,
    )

    (answer,) = objects(loaded.out)
    assert answer["conditions"] == run.answer


def test_text_shows_decisions_and_reasons(plain_run: Run) -> None:
    run = plain_run
    done = gdbext(
        "coverage", run.recording, "decisions.c", "--conditions", runtime=run.recording.parent
    )

    assert done.status == 0, done.err
    for decision in run.file["decisions"]:
        assert f"decisions.c:{decision['line']}:{decision['column']} " in done.out
    for decision in run.file["not_provable"]:
        assert decision["reason"] in done.out
