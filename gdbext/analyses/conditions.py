# SPDX-License-Identifier: GPL-2.0-or-later
"""Condition coverage and MC/DC of the decisions whose branches are known."""

from __future__ import annotations

import posixpath
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gdbext.coverage.code import read_code
from gdbext.coverage.decisions.expression import Path, paths_of
from gdbext.coverage.decisions.machine import Machine
from gdbext.coverage.decisions.macros import MacroReader
from gdbext.coverage.decisions.matching import Match, Unproven, match
from gdbext.coverage.decisions.mcdc import find_pair, missing_pairs
from gdbext.coverage.decisions.model import (
    ConditionCoverage,
    ConditionsReport,
    DecisionCoverage,
    FileDecisions,
    UnprovenDecision,
    Vector,
)
from gdbext.coverage.decisions.source import find_decisions
from gdbext.coverage.decisions.tokens import Place
from gdbext.replay.kinds import NO_TARGET
from gdbext.replay.paths import PathTree
from gdbext.symbols.origins import Origins

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdbext.analyses.program import Program
    from gdbext.coverage.decisions.macros import Macros
    from gdbext.coverage.decisions.source import SourceDecision
    from gdbext.coverage.decisions.tokens import Tokens
    from gdbext.coverage.model import Coverage, FileCoverage
    from gdbext.replay.paths import PathCounts
    from gdbext.symbols import LineRow

__all__ = ["report_conditions"]

MOST_PATHS: Final = 2048
"""Of one decision; 12 conditions have at most some hundred."""
MISSING_SHOWN: Final = 3


@dataclass
class _Proven:
    """A decision that is followed."""

    source: SourceDecision
    match: Match
    paths: list[Path]
    function: str
    excluded: str | None
    root: int = 0
    leaves: tuple[int, ...] = ()
    branches: tuple[int, ...] = ()


def report_conditions(
    program: Program,
    coverage: Coverage,
    path_of: Callable[[str], str],
    follow: Callable[[PathTree], PathCounts],
) -> ConditionsReport:
    """The decisions of the files, or the function, that coverage was measured of.

    Args:
        path_of: the path in `coverage` of a source file, from the one in the debug information.
        follow: replays the recording along the ways through decisions.

    Raises:
        SymbolError: the debug information is damaged.
    """
    return _Conditions(program, coverage, path_of).report(follow)


class _Conditions:
    def __init__(self, program: Program, coverage: Coverage, path_of: Callable[[str], str]) -> None:
        self._program = program
        self._symbols = program.symbols
        self._coverage = coverage
        self._origins = Origins(self._symbols.path, self._symbols.sources)
        self._rows = self._symbols.sources.all_rows()
        self._starts = [row.start for row in self._rows]
        self._machines: dict[int, Machine] = {}
        self._macros: dict[str, Macros] = {}
        self._executed = sorted(program.execution.insns)
        # Folders of headers: those that any file of the program is in, and above.
        sources = self._symbols.sources
        names = {name for n in range(len(sources.units)) for name in sources.lines(n).files if name}
        folders = {posixpath.dirname(path_of(name)) for name in names}
        folders |= {posixpath.dirname(folder) for folder in folders}
        self._headers = MacroReader(sorted(folders), self._symbols.source_lines)
        self._by_file: dict[str, dict[int, list[LineRow]]] = {}
        for row in self._rows:
            if row.line:
                lines = self._by_file.setdefault(path_of(row.file), {})
                lines.setdefault(row.line, []).append(row)

    def report(self, follow: Callable[[PathTree], PathCounts]) -> ConditionsReport:
        """All files; one replay for all of them."""
        proven: dict[str, list[_Proven]] = {}
        unproven: dict[str, list[UnprovenDecision]] = {}
        missing = []
        for file in self._coverage.files:
            if not file.lines or file.path.endswith((".s", ".S")):
                continue
            source = self._symbols.source_lines(file.path)
            if not source:
                missing.append(file.path)
                continue
            decisions, tokens = find_decisions(file.path, source)
            excluded = {line.line: line.excluded for line in file.lines}
            places = sorted(
                (Place(branch.line, branch.column), branch.address)
                for branch in file.branches
                if branch.line is not None
            )
            own, others = proven.setdefault(file.path, []), unproven.setdefault(file.path, [])
            for decision in decisions:
                self._decide(file, decision, tokens, places, excluded, own, others)
        tree = _tree([one for file in proven.values() for one in file], self._ways_of)
        counts = follow(tree) if tree.branches else None
        files = [
            FileDecisions(
                path,
                tuple(_covered(one, counts) for one in proven[path] if counts is not None),
                tuple(unproven[path]),
            )
            for path in proven
            if proven[path] or unproven[path]
        ]
        return ConditionsReport(tuple(files), tuple(missing))

    def _ways_of(self, branch: int) -> tuple[int, int]:
        """Where a branch goes when taken, and when not."""
        machine = self._machine_of(branch)
        target = machine.target(branch)
        assert target is not None  # the proof has looked
        return target, machine.following(branch)

    def _decide(
        self,
        file: FileCoverage,
        decision: SourceDecision,
        tokens: Tokens,
        places: list[tuple[Place, int]],
        excluded: dict[int, str | None],
        proven: list[_Proven],
        unproven: list[UnprovenDecision],
    ) -> None:
        start, end = decision.region.start, decision.region.end
        lines = [line for line in range(start.line, end.line + 1) if line in excluded]
        by_line = self._by_file.get(file.path, {})
        rows = [row for line in lines for row in by_line.get(line, ())]
        here = [row for row in rows if decision.region.holds(Place(row.line, row.column))]
        marked = [row for row in rows if Place(row.line, row.column) in decision.marks]
        columns = any(row.column for row in rows)
        if not here and not marked and columns:
            return  # it has no code: left out by the preprocessor, or a constant
        if not rows:
            return
        reason = next((excluded[line] for line in lines if excluded[line] is not None), None)
        try:
            if not columns:
                raise Unproven("no columns in the debug information (-gcolumn-info)")
            proven.append(self._prove(file, decision, tokens, places, reason))
        except Unproven as why:
            unproven.append(
                UnprovenDecision(
                    decision.kind,
                    decision.text,
                    decision.start.line,
                    decision.start.column,
                    len(decision.conditions),
                    str(why),
                    reason,
                )
            )

    def _prove(
        self,
        file: FileCoverage,
        decision: SourceDecision,
        tokens: Tokens,
        places: list[tuple[Place, int]],
        excluded: str | None,
    ) -> _Proven:
        if decision.obstacle is not None:
            raise Unproven(decision.obstacle)
        low = bisect_left(places, (decision.region.start, 0))
        high = bisect_left(places, (decision.region.end, NO_TARGET))
        branches = sorted(address for _, address in places[low:high])
        if not branches:
            raise Unproven("no conditional branch: the compiler decides without, or knows it")
        holders = {
            (function.address if function is not None else 0)
            for function in map(self._symbols.function_at, branches)
        }
        machine = self._machine_of(branches[0])
        copies = holders if len(holders) > 1 else set(map(machine.copy_at, branches))
        if len(copies) > 1:
            raise Unproven(
                f"{len(copies)} copies in the program (inlined, or in several functions)"
            )
        function = self._symbols.function_at(branches[0])
        row = machine.row_at(branches[0])
        if function is None or row is None:
            raise Unproven("its code is in no function")
        origin = self._origins.at(branches[0])
        macros = self._macros_of(file.path)
        found = match(decision, tokens, machine, branches, row.file, origin, macros)
        paths = paths_of(list(found.steps), MOST_PATHS)
        if paths is None:
            raise Unproven(f"more than {MOST_PATHS} ways through it")
        return _Proven(decision, found, paths, function.name, excluded)

    def _macros_of(self, path: str) -> Macros:
        macros = self._macros.get(path)
        if macros is None:
            macros = self._macros[path] = self._headers.read(path)
        return macros

    def _machine_of(self, address: int) -> Machine:
        function = self._symbols.function_at(address)
        if function is None:
            raise Unproven("its code is in no function")
        machine = self._machines.get(function.address)
        if machine is None:
            low = max(bisect_right(self._starts, function.address) - 1, 0)
            rows = self._rows[low : bisect_left(self._starts, function.end)]
            executed = self._executed[
                bisect_left(self._executed, function.address) : bisect_left(
                    self._executed, function.end
                )
            ]
            code = read_code(
                self._symbols, self._program.target, [function], rows, executed, whole=False
            )
            machine = Machine(self._symbols, self._program.target, code, rows)
            self._machines[function.address] = machine
        return machine


def _tree(proven: Sequence[_Proven], ways_of: Callable[[int], tuple[int, int]]) -> PathTree:
    """All ways through all decisions; tells each its numbers."""
    tree = PathTree()
    for one in proven:
        first = len(tree.branches) + 1
        one.root = len(tree.nodes) + 1
        for n, condition in enumerate(one.match.conditions):
            root = one.root if not n else 0
            tree.branches.append((condition.address, *ways_of(condition.address), root))
        one.branches = tuple(range(first, first + len(one.match.conditions)))
        leaves: dict[tuple[bool | None, ...], int] = {}
        todo: list[tuple[int, tuple[bool | None, ...], int, int]] = [
            (0, (None,) * len(one.match.steps), 0, 0)
        ]
        while todo:  # a node comes before those that it leads to
            at, values, parent, place = todo.pop(0)
            tree.nodes.append((first + at if at >= 0 else 0, 0, 0))
            node = len(tree.nodes)
            if parent:
                branch, *following = tree.nodes[parent - 1]
                following[place] = node
                tree.nodes[parent - 1] = (branch, following[0], following[1])
            if at < 0:
                leaves[values] = node
                continue
            for value in (True, False):
                to = one.match.steps[at].true if value else one.match.steps[at].false
                taken = value == one.match.conditions[at].true_when_taken
                now = (*values[:at], value, *values[at + 1 :])
                todo.append((to, now, node, 0 if taken else 1))
        one.leaves = tuple(leaves[path.values] for path in one.paths)
    return tree


def _covered(one: _Proven, counts: PathCounts) -> DecisionCoverage:
    n = [counts.counts[leaf] for leaf in one.leaves]
    evaluations = counts.counts[one.root]
    conditions = []
    for at, (condition, place) in enumerate(
        zip(one.source.conditions, one.match.conditions, strict=True)
    ):
        pair = find_pair(one.paths, n, at)
        seen = {
            value: sum(c for c, path in zip(n, one.paths, strict=True) if path.values[at] is value)
            for value in (True, False)
        }
        missing = missing_pairs(one.paths, n, at, MISSING_SHOWN) if pair is None else []
        conditions.append(
            ConditionCoverage(
                condition.text,
                condition.start.line,
                condition.start.column,
                place.address,
                seen[True],
                seen[False],
                pair,
                tuple(missing),
            )
        )
    return DecisionCoverage(
        one.source.kind,
        one.source.text,
        one.source.start.line,
        one.source.start.column,
        one.function,
        tuple(conditions),
        tuple(Vector(path, count) for path, count in zip(one.paths, n, strict=True)),
        evaluations,
        evaluations - sum(n) + sum(counts.lost[branch] for branch in one.branches),
        one.excluded,
    )
