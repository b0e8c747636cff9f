# SPDX-License-Identifier: GPL-2.0-or-later
"""Condition coverage and MC/DC of decisions drawn at random, against an evaluator in Python."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from gdbext.analyses.workspace import Workspace
from gdbext.coverage.decisions.model import ConditionsReport, DecisionCoverage
from gdbext.coverage.measure import Settings
from gdbext.coverage.model import Branch
from gdbext.target.boards import load_board
from tests.support.firmware import FIRMWARE_DIRECTORY, build_given, counters
from tests.support.qemu_runs import icount, record
from tests.support.qemus import qemu_in
from tests.support.random_decisions import RandomDecision, RandomDecisions, Vector, shown

COUNT = 42
RUNS = [
    ("mps2-an385", "O0", 1),
    ("mps2-an385", "Og", 2),
    ("virt-rv32", "O0", 3),
    ("virt-rv32", "Og", 4),
    ("virt-aarch64", "O0", 5),
]


@dataclass(frozen=True)
class Run:
    """A program's run: what was drawn, and what we say."""

    level: str
    program: RandomDecisions
    report: ConditionsReport
    branches: dict[int, Branch]
    ticks: int

    def found(self, function: str) -> list[DecisionCoverage]:
        """The decisions of a function that were proven."""
        return [
            one for file in self.report.files for one in file.decisions if one.function == function
        ]

    def vectors(self, decision: RandomDecision) -> Counter[Vector]:
        """The truth: evaluations by vector, also those in interrupts."""
        return decision.vectors(self.program.ticked(self.ticks)[decision.number])


def run_of(board_name: str, level: str, seed: int, folder: Path, *, quiet: bool = False) -> Run:
    """Build and record the program of a seed; `quiet`: without interrupts."""
    program = RandomDecisions.draw(seed, COUNT)
    source = folder / "decisions.c"
    source.write_text(program.source(quiet=quiet))
    board = load_board(board_name)
    elf = build_given(source, board_name, level, "decisions")
    ran = record(board, elf, qemu_in("", board.qemu), folder / "live", icount(board))
    workspace = Workspace(folder / "live", elf)
    workspace.refresh()
    coverage = workspace.coverage(Settings(), "decisions.c")
    branches = {branch.address: branch for branch in coverage.files[0].branches}
    ticks = counters(ran.text())["interrupts"]
    return Run(level, program, workspace.conditions(Settings(), coverage), branches, ticks)


@pytest.fixture(scope="module", params=RUNS, ids=lambda run: f"{run[0]}-{run[1]}")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Each board and level."""
    board, level, seed = request.param
    return run_of(board, level, seed, tmp_path_factory.mktemp("run"))


def test_interrupts_evaluate_decisions_too(run: Run) -> None:
    assert run.ticks > 10


def test_vectors_are_those_that_were_evaluated(run: Run) -> None:
    different = {}
    for decision in run.program.decisions:
        for found in run.found(decision.name):
            if found.kind == "if" and found.text == "r++":
                continue  # of the `do` loop
            ours = {
                (vector.path.values, vector.path.outcome): vector.count
                for vector in found.vectors
                if vector.count
            }
            if ours != dict(run.vectors(decision)) or found.unknown:
                different[decision.text] = (ours, run.vectors(decision), found.unknown)

    assert not different


def test_a_decision_that_evaluates_itself_is_followed_by_activation(run: Run) -> None:
    (found,) = (one for one in run.found("rec") if len(one.conditions) == 3)

    ours = {(v.path.values, v.path.outcome): v.count for v in found.vectors if v.count}

    assert ours == dict(run.program.recursive.vectors())
    assert not found.unknown


def test_conditions_and_mcdc_are_what_the_vectors_show(run: Run) -> None:
    different = {}
    for decision in run.program.decisions:
        truth = run.vectors(decision)
        for found in run.found(decision.name):
            if found.kind == "if" and found.text == "r++":
                continue
            for n, condition in enumerate(found.conditions):
                seen = tuple(
                    sum(c for (values, _), c in truth.items() if values[n] is value)
                    for value in (True, False)
                )
                said = (condition.true, condition.false, condition.pair is not None)
                if said != (*seen, shown(list(truth), n)):
                    different[decision.text, n] = (said, seen)

    assert not different


def test_counts_are_those_of_the_object_branches(run: Run) -> None:
    for file in run.report.files:
        for decision in file.decisions:
            for condition in decision.conditions:
                branch = run.branches[condition.address]
                assert sorted((condition.true, condition.false)) == sorted(
                    (branch.taken, branch.not_taken)
                )


def test_most_plain_decisions_are_proven_and_the_others_have_a_reason(run: Run) -> None:
    unproven = []
    for decision in run.program.decisions:
        proven = [one for one in run.found(decision.name) if one.text == decision.text]
        proven += [one for one in run.found(decision.name) if one.text == f"!({decision.text})"]
        reasons = [
            one.reason
            for file in run.report.files
            for one in file.not_provable
            if one.text in (decision.text, f"!({decision.text})")
        ]
        assert bool(proven) or bool(reasons), decision.text
        if not proven:
            unproven.append((decision.context, decision.text, reasons))
    if run.level == "O0":
        assert len(unproven) <= COUNT // 20, unproven
    totals = run.report.totals()
    assert totals.not_provable == sum(len(file.not_provable) for file in run.report.files)
    assert totals.decisions > COUNT / 2


HOST = """
#include <stdlib.h>
#include "gx.h"
volatile struct gx_counters gx_counters;
void board_timer_start(uint32_t us) { (void)us; }
void board_timer_stop(void) {}
void gx_report(const char *program) { (void)program; }
void gx_exit(int status) { exit(status); }
"""


def test_gccs_condition_coverage_lies_between_unmasked_and_evaluated_outcomes(
    tmp_path: Path,
) -> None:
    if shutil.which("gcc-14") is None or shutil.which("gcov-14") is None:
        pytest.skip("gcc-14 is not installed: -fcondition-coverage is new in GCC 14")
    run = run_of("mps2-an385", "O0", 7, tmp_path, quiet=True)
    theirs = gcc_conditions(tmp_path)

    compared = equal = 0
    for decision in run.program.decisions:
        for found in run.found(decision.name):
            if found.text == "r++":
                continue
            outcomes = {
                outcome
                for vector in found.vectors
                if vector.count
                for outcome in decision.unmasked(vector.path.values)
            }
            (condition,) = theirs[found.line]
            evaluated = found.totals.conditions.covered
            # GCC 14 keeps some masked outcomes: of `(a || b) && c`, a is true and c false, a's.
            assert condition["count"] == 2 * len(found.conditions)
            assert len(outcomes) <= condition["covered"] <= evaluated
            if all(c.pair is not None for c in found.conditions):
                assert condition["covered"] == condition["count"]
            compared += 1
            equal += condition["covered"] == len(outcomes)
    assert compared > COUNT * 0.9
    assert equal > compared * 0.8


def gcc_conditions(folder: Path) -> dict[int, list[dict[str, int]]]:
    """What GCC counts of decisions.c on the host: by line, outcomes and those covered."""
    (folder / "host.c").write_text(HOST)
    include = FIRMWARE_DIRECTORY / "include"
    build = ["gcc-14", "-O0", "--coverage", "-fcondition-coverage", f"-I{include}", "-DPERIOD_US=1"]
    for command in (
        [*build, "decisions.c", "host.c", "-o", "host"],
        [str(folder / "host")],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (notes,) = folder.glob("*decisions.gcda")
    answer = subprocess.run(
        ["gcov-14", "--conditions", "--json-format", "--stdout", notes.name],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    (file,) = (f for f in json.loads(answer.stdout)["files"] if f["file"] == "decisions.c")
    found: dict[int, list[dict[str, int]]] = {}
    for line in file["lines"]:
        for condition in line.get("conditions", ()):
            counts = {key: condition[key] for key in ("count", "covered")}
            found.setdefault(line["line_number"], []).append(counts)
    return found
