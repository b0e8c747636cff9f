# SPDX-License-Identifier: GPL-2.0-or-later
"""What one recording covered and another did not."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from gdbext.analyses.runs import Run, Seen, all_files, builds_of, coverage_of, seen_in
from gdbext.coverage.union import function_keys

if TYPE_CHECKING:
    from gdbext.coverage.measure import Settings
    from gdbext.coverage.model import Branch, Coverage, FunctionCoverage, State

__all__ = [
    "Difference",
    "FileDifference",
    "FunctionDifference",
    "LineDifference",
    "Outcome",
    "Part",
    "compare",
]


@dataclass(frozen=True)
class LineDifference:
    """A line that ran here and not there."""

    line: int
    count: int | None
    other: State | None
    """What it was there; None: that build has no code of it."""


class FunctionDifference(NamedTuple):
    """A function that ran here and not there."""

    function: FunctionCoverage
    there: bool
    """That program has it; else it may be part of others there, inlined."""


class Outcome(NamedTuple):
    """A way of a branch that was gone here and not there."""

    branch: Branch
    taken: bool


@dataclass(frozen=True)
class FileDifference:
    """What of one source file ran here and not there."""

    path: str
    """Empty for code that no file holds."""
    functions: tuple[FunctionDifference, ...]
    lines: tuple[LineDifference, ...]
    outcomes: tuple[Outcome, ...]
    """Of branches; empty where the builds differ."""

    def to_json(self) -> dict[str, Any]:
        """path, functions[], lines[], branches[]."""
        return {
            "path": self.path,
            "functions": [
                {
                    "name": function.name,
                    "address": function.address,
                    "line": function.line,
                    "count": function.count,
                    "other": "uncovered" if there else None,
                }
                for function, there in self.functions
            ],
            "lines": [asdict(line) for line in self.lines],
            "branches": [
                {
                    "line": branch.line,
                    "address": branch.address,
                    "outcome": "taken" if taken else "not_taken",
                    "count": branch.taken if taken else branch.not_taken,
                }
                for branch, taken in self.outcomes
            ],
        }


@dataclass(frozen=True)
class Part:
    """What only one of the two covered."""

    run: Run
    files: tuple[FileDifference, ...]
    """By path, those where something is different."""

    @property
    def n_functions(self) -> int:
        """In all files."""
        return sum(len(file.functions) for file in self.files)

    @property
    def n_lines(self) -> int:
        """In all files."""
        return sum(len(file.lines) for file in self.files)

    @property
    def n_outcomes(self) -> int:
        """In all files."""
        return sum(len(file.outcomes) for file in self.files)

    def to_json(self) -> dict[str, Any]:
        """totals and files[]."""
        return {
            "totals": {
                "functions": self.n_functions,
                "lines": self.n_lines,
                "branches": self.n_outcomes,
            },
            "files": [file.to_json() for file in self.files],
        }


@dataclass(frozen=True)
class Difference:
    """Both directions."""

    only_first: Part
    only_second: Part
    same_code: bool
    """Both ran the same code bytes; else branches are not compared."""
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "gdbext/diff/1"."""
        return {
            "first": self.only_first.run.name,
            "second": self.only_second.run.name,
            "same_code": self.same_code,
            "only_first": self.only_first.to_json(),
            "only_second": self.only_second.to_json(),
            "notes": list(self.notes),
        }


def compare(first: Run, second: Run, settings: Settings) -> Difference:
    """Compare what two recordings covered, by function, line and outcome of branches.

    Raises:
        SymbolError: debug information is damaged.
    """
    same = first.code == second.code
    builds = builds_of([first, second])
    symbols = [builds[0][0].symbols, builds[-1][0].symbols]
    covered = [
        coverage_of([[replace(run, symbols=own)]], settings)
        for run, own in zip((first, second), symbols, strict=True)
    ]
    seen = [seen_in(each, 0) for each in covered]
    notes = dict.fromkeys(note for each in covered for note in each.notes)
    for run in (first, second):
        notes |= dict.fromkeys(f"{run.name}: {remark}" for remark in run.remarks)
    if not same:
        notes["different builds: compared by file, line and name of functions, no branches"] = None
    return Difference(
        _part(first, covered[0], seen[0] - seen[1], covered[1], branches=same),
        _part(second, covered[1], seen[1] - seen[0], covered[0], branches=same),
        same,
        tuple(notes),
    )


def _part(run: Run, own: Coverage, only: Seen, other: Coverage, *, branches: bool) -> Part:
    files = []
    for file in all_files(own):
        there = other.file(file.path) if file.path else other.no_source
        states = {line.line: line.state for line in there.lines} if there is not None else {}
        functions = set(function_keys(there)) if there is not None else set()
        found = FileDifference(
            file.path,
            tuple(
                FunctionDifference(function, key in functions)
                for key, function in zip(function_keys(file), file.functions, strict=True)
                if (file.path, *key) in only.functions
            ),
            tuple(
                LineDifference(line.line, line.count, states.get(line.line))
                for line in file.lines
                if (file.path, line.line) in only.lines
            ),
            tuple(
                Outcome(branch, way)
                for branch in file.branches
                for way in (True, False)
                if branches and (0, branch.address, way) in only.branches
            ),
        )
        if found.functions or found.lines or found.outcomes:
            files.append(found)
    return Part(run, tuple(files))
