# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of measuring coverage: files with their lines, branches and functions, and totals.

Addresses are link addresses. What an exclusion takes out is in the lists, with its reason, and in
no total but `excluded`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from gdbext.replay.kinds import NO_TARGET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "Branch",
    "Copy",
    "Coverage",
    "Decision",
    "FileCoverage",
    "FunctionCoverage",
    "Line",
    "Ratio",
    "State",
    "Totals",
    "Unit",
]

State = Literal["covered", "partial", "undecided", "uncovered"]
"""Of a line: all its instructions ran; some did; only instructions were reached that have a
condition of their own, so that nothing tells whether they took effect; none ran."""


class Ratio(NamedTuple):
    """So many of so many."""

    covered: int
    total: int

    def plus(self, other: Ratio) -> Ratio:
        """Both added up."""
        return Ratio(self.covered + other.covered, self.total + other.total)

    @property
    def percent(self) -> float | None:
        """0 to 100; None of nothing."""
        return 100 * self.covered / self.total if self.total else None

    def to_json(self) -> dict[str, int]:
        """{covered, total}."""
        return {"covered": self.covered, "total": self.total}


_NOTHING: Final = Ratio(0, 0)


@dataclass(frozen=True)
class Totals:
    """What ran of what there is; branches count by outcome, two for each conditional branch."""

    insns: Ratio = _NOTHING
    lines: Ratio = _NOTHING
    functions: Ratio = _NOTHING
    branches: Ratio = _NOTHING
    partial_lines: int = 0
    """Of the covered lines: some of their instructions did not run."""
    undecided_lines: int = 0
    """Lines (not covered) of which only conditional instructions were reached."""
    undecided_insns: int = 0
    """Instructions (not covered) that were reached, with a condition that may have failed."""
    decisions: int = 0
    """Instructions that decide without a branch; nothing tells how they decided."""

    def plus(self, other: Totals) -> Totals:
        """Both added up."""
        return Totals(
            self.insns.plus(other.insns),
            self.lines.plus(other.lines),
            self.functions.plus(other.functions),
            self.branches.plus(other.branches),
            self.partial_lines + other.partial_lines,
            self.undecided_lines + other.undecided_lines,
            self.undecided_insns + other.undecided_insns,
            self.decisions + other.decisions,
        )

    def to_json(self) -> dict[str, Any]:
        """insns, lines, functions, branches, decisions_without_branch."""
        return {
            "insns": {**self.insns.to_json(), "undecided": self.undecided_insns},
            "lines": {
                **self.lines.to_json(),
                "partial": self.partial_lines,
                "undecided": self.undecided_lines,
            },
            "functions": self.functions.to_json(),
            "branches": self.branches.to_json(),
            "decisions_without_branch": self.decisions,
        }


@dataclass(frozen=True)
class Copy:
    """One copy of a line: in a function of its own, or inlined into another."""

    address: int
    """Of its first instruction."""
    function: str
    """The function whose code holds it."""
    inlined: bool
    count: int | None
    """None: undecided."""


@dataclass(frozen=True)
class Unit:
    """A part of a line: the code that begins at this column, in all copies."""

    column: int
    count: int | None
    """None: undecided."""


@dataclass(frozen=True)
class Line:
    """A source line that has code."""

    line: int
    count: int | None
    """Times it ran: its most executed instruction, copies added up. None: undecided."""
    insns: Ratio
    """Reached instructions, of all copies."""
    state: State
    units: tuple[Unit, ...] = ()
    """By column, where it has several."""
    copies: tuple[Copy, ...] = ()
    """By address, where it has several."""
    excluded: str | None = None
    """The reason."""

    @property
    def covered(self) -> bool:
        """It ran for certain, all or in part."""
        return self.state in ("covered", "partial")

    def to_json(self) -> dict[str, Any]:
        """The fields by name; units, copies and excluded only where there are any."""
        content: dict[str, Any] = {
            "line": self.line,
            "count": self.count,
            "state": self.state,
            "insns": self.insns.to_json(),
        }
        if self.units:
            content["units"] = [asdict(unit) for unit in self.units]
        if self.copies:
            content["copies"] = [asdict(copy) for copy in self.copies]
        return _with_reason(content, self.excluded)


@dataclass(frozen=True)
class Branch:
    """A conditional branch instruction, or a call or return with a condition."""

    address: int
    line: int | None
    """None where the line table has none."""
    column: int
    """0 where the compiler did not say."""
    target: int
    """NO_TARGET: only the run tells."""
    size: int
    """Bytes of the instruction; 0 where it could not be read."""
    executed: int
    taken: int
    not_taken: int
    excluded: str | None = None
    """The reason."""

    @property
    def unknown(self) -> int:
        """Executions whose outcome was not recorded."""
        return self.executed - self.taken - self.not_taken

    @property
    def outcomes(self) -> Ratio:
        """Outcomes seen, of two."""
        return Ratio((self.taken > 0) + (self.not_taken > 0), 2)

    def to_json(self) -> dict[str, Any]:
        """The fields by name, and `unknown`."""
        content = {
            "line": self.line,
            "address": self.address,
            "taken": self.taken,
            "not_taken": self.not_taken,
            "unknown": self.unknown,
            "column": self.column,
            "target": None if self.target == NO_TARGET else self.target,
        }
        return _with_reason(content, self.excluded)


@dataclass(frozen=True)
class Decision:
    """An instruction that decides without a branch: how it decided is not in a recording.

    `predicated` ones (IT blocks, A32) take effect only if their condition holds; a `select`
    chooses between two values (csel, cmov..).
    """

    address: int
    line: int | None
    column: int
    kind: Literal["predicated", "select"]
    executed: int

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return {
            "line": self.line,
            "address": self.address,
            "kind": self.kind,
            "executed": self.executed,
            "column": self.column,
        }


@dataclass(frozen=True)
class FunctionCoverage:
    """A function, with what the compiler moved out of it."""

    name: str
    address: int
    line: int | None
    """Where the source names it; without that, of its first instruction."""
    count: int
    """Times it was entered, as a handler too."""
    insns: Ratio
    branches: Ratio
    covered: bool
    """Some instruction of it ran; also if it was entered before the recording began."""
    excluded: str | None = None
    """The reason."""

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        content = {
            "name": self.name,
            "address": self.address,
            "line": self.line,
            "count": self.count,
            "covered": self.covered,
            "insns": self.insns.to_json(),
            "branches": self.branches.to_json(),
        }
        return _with_reason(content, self.excluded)


@dataclass(frozen=True)
class FileCoverage:
    """One source file; all lists are sorted, lines by number, the others by address."""

    path: str
    """As the debug information says, after substitution and without `.` and `..`; empty for code
    that no file holds."""
    lines: Sequence[Line]
    functions: Sequence[FunctionCoverage]
    branches: Sequence[Branch]
    decisions: Sequence[Decision]
    totals: Totals
    excluded: Totals = Totals()

    def to_json(self) -> dict[str, Any]:
        """path, totals, excluded, lines[], functions[], branches[], decisions[]."""
        return {
            "path": self.path,
            "totals": self.totals.to_json(),
            "excluded": self.excluded.to_json(),
            "lines": [line.to_json() for line in self.lines],
            "functions": [function.to_json() for function in self.functions],
            "branches": [branch.to_json() for branch in self.branches],
            "decisions": [decision.to_json() for decision in self.decisions],
        }


@dataclass(frozen=True)
class Coverage:
    """Coverage of a program, or of one function or file of it."""

    files: tuple[FileCoverage, ...]
    """By path, those that the filter took."""
    totals: Totals
    """Of `files`, without exclusions; of all code where there is no debug information."""
    excluded: Totals = Totals()
    no_source: FileCoverage = FileCoverage("", (), (), (), (), Totals())
    """Code that no source file holds; it has no lines."""
    filtered: Totals = Totals()
    """Code of files that the filter left out."""
    filtered_files: int = 0
    changed: int = 0
    """Executed instructions whose bytes are not the ELF file's; in no other number."""
    notes: tuple[str, ...] = field(default=())

    def file(self, path: str) -> FileCoverage | None:
        """The file of that path."""
        return next((file for file in self.files if file.path == path), None)

    def of_file(self, path: str) -> Coverage:
        """Coverage of that file alone."""
        file = self.file(path)
        assert file is not None
        return Coverage((file,), file.totals, file.excluded, changed=self.changed, notes=self.notes)

    def functions(self) -> Iterator[tuple[FileCoverage, FunctionCoverage]]:
        """All functions that have a source file."""
        for file in self.files:
            for function in file.functions:
                yield file, function

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "gdbext/coverage/1"."""
        return {
            "totals": self.totals.to_json(),
            "excluded": self.excluded.to_json(),
            "no_source": {
                key: value
                for key, value in self.no_source.to_json().items()
                if key not in ("path", "excluded", "lines")
            },
            "filtered": {**self.filtered.to_json(), "files": self.filtered_files},
            "changed_insns": self.changed,
            "files": [file.to_json() for file in self.files],
            "notes": list(self.notes),
        }


def _with_reason(content: dict[str, Any], reason: str | None) -> dict[str, Any]:
    return content if reason is None else {**content, "excluded": reason}
