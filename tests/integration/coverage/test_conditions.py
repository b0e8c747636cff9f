# SPDX-License-Identifier: GPL-2.0-or-later
"""Condition coverage and MC/DC of decisions drawn at random, against an evaluator in Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from gdbext.analyses.workspace import Workspace
from gdbext.coverage.decisions.model import ConditionsReport, DecisionCoverage
from gdbext.coverage.measure import Settings
from gdbext.coverage.model import Branch
from gdbext.target.boards import load_board
from tests.support.firmware import build_given, counters
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


def run_of(board_name: str, level: str, seed: int, folder: Path) -> Run:
    """Build and record the program of a seed."""
    program = RandomDecisions.draw(seed, COUNT)
    source = folder / "decisions.c"
    source.write_text(program.source())
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
        if run.level == "O0":
            assert proven, (decision.context, decision.text, reasons)
    totals = run.report.totals()
    assert totals.not_provable == sum(len(file.not_provable) for file in run.report.files)
    assert totals.decisions > COUNT / 2
