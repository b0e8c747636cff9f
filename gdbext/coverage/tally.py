# SPDX-License-Identifier: GPL-2.0-or-later
"""The coverage of source files from counts of their lines; lists are made when asked for."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from gdbext.coverage.deferred import Deferred
from gdbext.coverage.execution import Outcomes
from gdbext.coverage.linecounts import CLineRow, line_counts
from gdbext.coverage.lines import measured_line
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
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from ctypes import Array

    from gdbext.coverage.execution import Execution
    from gdbext.coverage.layout import Layout
    from gdbext.coverage.reached import Reached
    from gdbext.symbols import Symbols

__all__ = ["Tally", "added"]

_NEVER: Final = Outcomes(0, 0)
_UNDECIDED_LINE, _PARTIAL, _COVERED = 1, 2, 3


@dataclass
class Tally:
    """What all files are counted from."""

    symbols: Symbols
    layout: Layout
    reached: Reached
    execution: Execution
    _rows: Array[CLineRow] = field(init=False)
    _words: memoryview = field(init=False)
    """The same as 32-bit words, to be added up."""

    def __post_init__(self) -> None:
        self._rows = line_counts(self.layout, self.reached)
        self._words = memoryview(self._rows).cast("B").cast("I")

    @cached_property
    def functions(self) -> dict[int, list[FunctionCoverage]]:
        """By number of their file, sorted by address."""
        found: dict[int, list[FunctionCoverage]] = {}
        reached = self.reached
        by_address = {function.address: function for function in self.symbols.functions}
        for address, file, line, code in self.layout.functions():
            found.setdefault(file, []).append(
                FunctionCoverage(
                    name=by_address[address].name,
                    address=address,
                    line=line or None,
                    count=self.execution.entries.get(address, 0),
                    insns=added(reached.insns(*part) for part in code),
                    branches=added(reached.outcomes(*part) for part in code),
                    covered=any(any(reached.counts[first:end]) for first, end in code),
                )
            )
        return found

    def lines(self, file: int) -> list[int]:
        """Numbers of the lines that have code, and of those that name a function."""
        low, high = self._range(file)
        numbers = {*self.layout.line_number[low:high]}
        numbers.update(function.line or 0 for function in self.functions.get(file, ()))
        return sorted(numbers - {0})

    def file(self, file: int, reasons: Mapping[int, str]) -> FileCoverage:
        """Coverage of one file, by its number; `reasons`: of excluded lines."""
        low, high = self._range(file)
        functions = tuple(_with_reason(f, reasons) for f in self.functions.get(file, ()))
        out = [i for i in range(low, high) if self.layout.line_number[i] in reasons]
        excluded = self._sum(
            (range(i, i + 1) for i in out), [f for f in functions if f.excluded is not None]
        )
        spans, at = [], low
        for index in out:
            spans.append(range(at, index))
            at = index + 1
        spans.append(range(at, high))
        return FileCoverage(
            path=self.layout.files[file],
            lines=Deferred(lambda: self._lines(low, high, reasons)),
            functions=functions,
            branches=Deferred(lambda: self._branches(low, high, reasons)),
            decisions=Deferred(lambda: self._decisions(low, high)),
            totals=self._sum(spans, [f for f in functions if f.excluded is None]),
            excluded=excluded,
        )

    def _range(self, file: int) -> tuple[int, int]:
        """The lines of a file, as indices in the layout."""
        files = self.layout.line_file
        return bisect_left(files, file), bisect_left(files, file + 1)

    def _lines(self, low: int, high: int, reasons: Mapping[int, str]) -> Iterator[Line]:
        layout, numbers = self.layout, self.layout.line_number
        for i in range(low, high):
            if numbers[i]:
                reason = reasons.get(numbers[i])
                yield measured_line(self.symbols, layout, self.reached, i, self._rows[i], reason)

    def _branches(self, low: int, high: int, reasons: Mapping[int, str]) -> list[Branch]:
        layout, counts = self.layout, self.reached.counts
        found = []
        for line, column, own, end in self._pieces(low, high, self.reached.branches_before):
            for index in self.reached.branches_in(own, end):
                place = layout.branches[index]
                address = layout.addresses[place]
                outcomes = self.execution.outcomes.get(address, _NEVER)
                found.append(
                    Branch(
                        address=address,
                        line=line or None,
                        column=column,
                        target=layout.targets[index],
                        size=layout.sizes[place],
                        executed=counts[place],
                        taken=outcomes.taken,
                        not_taken=outcomes.not_taken,
                        excluded=reasons.get(line),
                    )
                )
        return sorted(found, key=lambda branch: branch.address)

    def _decisions(self, low: int, high: int) -> list[Decision]:
        layout, selects = self.layout, set(self.layout.selects)
        found = [
            Decision(
                address=layout.addresses[place],
                line=line or None,
                column=column,
                kind="select" if place in selects else "predicated",
                executed=self.reached.counts[place],
            )
            for line, column, own, end in self._pieces(low, high, self.reached.decisions_before)
            for place in self.reached.decisions_in(own, end)
        ]
        return sorted(found, key=lambda decision: decision.address)

    def _pieces(
        self, low: int, high: int, before: Sequence[int]
    ) -> Iterator[tuple[int, int, int, int]]:
        """(line, column, first place of its own, end) of the pieces that have any `before`."""
        layout = self.layout
        for line in range(low, high):
            for i in range(layout.line_from[line], layout.line_from[line + 1]):
                own, end = layout.own[i], layout.end[i]
                if before[own] < before[end]:
                    yield layout.line_number[line], layout.column[i], own, end

    def _sum(self, spans: Iterable[range], functions: Sequence[FunctionCoverage]) -> Totals:
        """Totals of lines, given as indices in the layout."""
        total, covered, undecided, outcomes, branches, decisions = [0] * 6
        lines = [0] * 4  # by state
        for span in spans:
            low, high = span.start, span.stop
            total += self._added("own_total", low, high)
            covered += self._added("own_covered", low, high)
            undecided += self._added("own_undecided", low, high)
            outcomes += self._added("own_outcomes", low, high)
            branches += self._added("own_branches", low, high)
            decisions += self._added("own_decisions", low, high)
            # Line 0 comes first in its file, and is none.
            real = low + (low < high and not self.layout.line_number[low])
            states = list(self._column("state", real, high))
            for state in range(4):
                lines[state] += states.count(state)
        return Totals(
            insns=Ratio(covered, total),
            lines=Ratio(lines[_PARTIAL] + lines[_COVERED], sum(lines)),
            functions=Ratio(sum(function.covered for function in functions), len(functions)),
            branches=Ratio(outcomes, 2 * branches),
            partial_lines=lines[_PARTIAL],
            undecided_lines=lines[_UNDECIDED_LINE],
            undecided_insns=undecided,
            decisions=decisions,
        )

    def _added(self, name: str, low: int, high: int) -> int:
        return sum(self._column(name, low, high))

    def _column(self, name: str, low: int, high: int) -> memoryview:
        """One field of the rows [low, high)."""
        at = getattr(CLineRow, name).offset // 4
        return self._words[low * _WORDS + at : high * _WORDS : _WORDS]


_WORDS: Final = memoryview(CLineRow()).nbytes // 4


def _with_reason(function: FunctionCoverage, reasons: Mapping[int, str]) -> FunctionCoverage:
    reason = reasons.get(function.line or 0)
    if reason is None:
        return function
    return FunctionCoverage(
        function.name,
        function.address,
        function.line,
        function.count,
        function.insns,
        function.branches,
        function.covered,
        reason,
    )


def added(parts: Iterable[Ratio]) -> Ratio:
    """The sum of all."""
    covered = total = 0
    for part in parts:
        covered += part[0]
        total += part[1]
    return Ratio(covered, total)
