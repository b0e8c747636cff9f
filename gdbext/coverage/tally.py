# SPDX-License-Identifier: GPL-2.0-or-later
"""One source file's coverage from the pieces of code that belong to it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gdbext.coverage.execution import Outcomes
from gdbext.coverage.lines import Piece, measure_line
from gdbext.coverage.model import (
    Branch,
    Decision,
    FileCoverage,
    FunctionCoverage,
    Line,
    Ratio,
    Totals,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gdbext.coverage.code import Code
    from gdbext.coverage.execution import Execution
    from gdbext.coverage.reached import Reached
    from gdbext.symbols import Symbols

__all__ = ["RawFile", "Tally", "added"]

_NEVER = Outcomes(0, 0)


@dataclass
class RawFile:
    """What belongs to one source file."""

    pieces: dict[int, list[Piece]] = field(default_factory=dict)
    """By line; line 0: code of no line."""
    functions: list[FunctionCoverage] = field(default_factory=list)


@dataclass(frozen=True)
class Tally:
    """What all files are counted from."""

    symbols: Symbols
    code: Code
    reached: Reached
    execution: Execution

    def file(self, path: str, raw: RawFile, reasons: Mapping[int, str]) -> FileCoverage:
        """Coverage of one file; `reasons`: of excluded lines."""
        lines = tuple(
            measure_line(self.symbols, self.code, self.reached, number, pieces, reasons.get(number))
            for number, pieces in sorted(raw.pieces.items())
            if number
        )
        functions = tuple(
            replace(function, excluded=reasons.get(function.line or 0))
            for function in sorted(raw.functions, key=lambda f: f.address)
        )
        branches: list[Branch] = []
        decisions: list[Decision] = []
        before_branches = self.reached.branches_before
        before_decisions = self.reached.decisions_before
        for number, pieces in raw.pieces.items():
            for piece in pieces:
                own, end = piece.own, piece.end
                if before_branches[own] < before_branches[end]:
                    branches += self._branches(piece, number, reasons.get(number))
                if before_decisions[own] < before_decisions[end]:
                    decisions += self._decisions(piece, number)
        return FileCoverage(
            path=path,
            lines=lines,
            functions=functions,
            branches=tuple(sorted(branches, key=lambda branch: branch.address)),
            decisions=tuple(sorted(decisions, key=lambda decision: decision.address)),
            totals=self._totals(
                [line for line in lines if line.excluded is None],
                [p for n, pieces in raw.pieces.items() if n not in reasons for p in pieces],
                [function for function in functions if function.excluded is None],
            ),
            excluded=self._totals(
                [line for line in lines if line.excluded is not None],
                [p for n, pieces in raw.pieces.items() if n in reasons for p in pieces],
                [function for function in functions if function.excluded is not None],
            ),
        )

    def _branches(self, piece: Piece, line: int, excluded: str | None) -> Iterator[Branch]:
        scan = self.code.scan
        for place in self.reached.branches_in(piece.own, piece.end):
            address = scan.addresses[place]
            outcomes = self.execution.outcomes.get(address, _NEVER)
            yield Branch(
                address=address,
                line=line or None,
                column=piece.column,
                target=scan.branches[address],
                size=scan.sizes[place],
                executed=self.reached.counts[place],
                taken=outcomes.taken,
                not_taken=outcomes.not_taken,
                excluded=excluded,
            )

    def _decisions(self, piece: Piece, line: int) -> Iterator[Decision]:
        scan = self.code.scan
        for place in self.reached.decisions_in(piece.own, piece.end):
            address = scan.addresses[place]
            yield Decision(
                address=address,
                line=line or None,
                column=piece.column,
                kind="select" if address in scan.selects else "predicated",
                executed=self.reached.counts[place],
            )

    def _totals(
        self,
        lines: Sequence[Line],
        pieces: Sequence[Piece],
        functions: Sequence[FunctionCoverage],
    ) -> Totals:
        reached = self.reached
        covered = undecided = total = seen = branches = decisions = 0
        for _, own, end, _, _ in pieces:
            total += end - own
            covered += reached.covered_before[end] - reached.covered_before[own]
            undecided += reached.undecided_before[end] - reached.undecided_before[own]
            seen += reached.outcomes_before[end] - reached.outcomes_before[own]
            branches += reached.branches_before[end] - reached.branches_before[own]
            decisions += reached.decisions_before[end] - reached.decisions_before[own]
        return Totals(
            insns=Ratio(covered, total),
            lines=Ratio(sum(line.covered for line in lines), len(lines)),
            functions=Ratio(sum(function.covered for function in functions), len(functions)),
            branches=Ratio(seen, 2 * branches),
            partial_lines=sum(line.state == "partial" for line in lines),
            undecided_lines=sum(line.state == "undecided" for line in lines),
            undecided_insns=undecided,
            decisions=decisions,
        )


def added(parts: Iterator[Ratio]) -> Ratio:
    """The sum of all."""
    covered = total = 0
    for part in parts:
        covered += part[0]
        total += part[1]
    return Ratio(covered, total)
