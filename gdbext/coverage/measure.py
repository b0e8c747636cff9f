# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage of a program: what ran, laid over its code, its line table and its functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gdbext.collector import uncollected
from gdbext.coverage.exclusions import Exclusions
from gdbext.coverage.filters import FileFilter
from gdbext.coverage.laying import layout_of
from gdbext.coverage.model import Coverage, Totals
from gdbext.coverage.reached import reach
from gdbext.coverage.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdbext.coverage.execution import Execution
    from gdbext.symbols import Function, Symbols

__all__ = ["Settings", "measure"]


@dataclass(frozen=True)
class Settings:
    """What counts."""

    files: FileFilter = field(default_factory=FileFilter)
    exclusions: Exclusions = field(default_factory=Exclusions)


@uncollected()
def measure(
    symbols: Symbols,
    target: str,
    execution: Execution,
    settings: Settings,
    function: Function | None = None,
) -> Coverage:
    """Measure the whole program, or one function with what the compiler moved out of it.

    Args:
        target: QEMU's target name.
        function: only its code, also the code inlined into it.

    Raises:
        SymbolError: the debug information is damaged.
    """
    return _Measurement(symbols, target, execution, settings, function).result()


class _Measurement:
    def __init__(
        self,
        symbols: Symbols,
        target: str,
        execution: Execution,
        settings: Settings,
        function: Function | None,
    ) -> None:
        self._symbols = symbols
        self._execution = execution
        self._settings = settings
        self._whole = function is None
        layout = layout_of(symbols, target, execution.insns, function)
        rename = settings.files.path
        self._layout = layout.with_files(["", *(rename(name) for name in layout.files[1:])])
        self._tally = Tally(symbols, self._layout, reach(self._layout, execution), execution)

    def result(self) -> Coverage:
        """Lay everything on top of each other."""
        named = self._excluded_functions()
        files, left_out = [], []
        paths = self._layout.files
        for number in sorted(range(1, len(paths)), key=paths.__getitem__):
            path = paths[number]
            if self._settings.files.takes(path):
                reasons = self._reasons(path, number, named.get(path, {}))
                files.append(self._tally.file(number, reasons))
            else:
                left_out.append(self._tally.file(number, {}))
        no_source = self._tally.file(0, {})
        totals = _sum([file.totals for file in files])
        if len(paths) == 1 or self._settings.files.everything:
            totals = totals.plus(no_source.totals)
        exclusions = self._settings.exclusions
        return Coverage(
            files=tuple(files),
            totals=totals,
            excluded=_sum([file.excluded for file in files]),
            no_source=no_source,
            filtered=_sum([file.totals for file in left_out]),
            filtered_files=len(left_out),
            changed=self._execution.changed,
            notes=(*exclusions.notes, *self._unused(), *self._folded()),
        )

    def _folded(self) -> list[str]:
        """What is not known because a linker made one of equal functions."""
        n = self._layout.folded[0]
        if not n:
            return []
        return [
            f"{n} instructions are of several functions that the linker made one of, because they "
            "are equal: nothing tells which of them ran, so the lines of all count"
        ]

    def _unused(self) -> list[str]:
        """Entries of lists that fitted nothing; where only a part is measured that says nothing."""
        if not self._whole:
            return []
        return [
            f"{entry.where}: nothing fits: {entry.function or entry.file} is not in the program, "
            "or has no code there"
            for entry in self._settings.exclusions.unused()
        ]

    def _reasons(self, path: str, number: int, named: Mapping[int, str]) -> dict[int, str]:
        """Why lines of a file are excluded; `named`: lines of functions that a list names."""
        source = self._symbols.source_lines(path)
        exclusions = self._settings.exclusions
        return {**named, **exclusions.of_file(path, self._tally.lines(number), source)}

    def _excluded_functions(self) -> dict[str, dict[int, str]]:
        """Reasons by path and line, of functions that a list names: their first line to the last
        one that is not inlined code."""
        named: dict[str, dict[int, str]] = {}
        for entry in self._settings.exclusions.functions():
            for function in self._symbols.find(entry.function or ""):
                self._settings.exclusions.use(entry)
                extent = self._symbols.lines_of(function)
                if extent is None:
                    continue
                file, first, last = extent
                path = self._settings.files.path(file)
                reasons = named.setdefault(path, {})
                for line in range(first, last + 1):
                    reasons.setdefault(line, entry.reason)
                declared = self._symbols.declared_at(function)
                if declared is not None:
                    path = self._settings.files.path(declared.file)
                    named.setdefault(path, {}).setdefault(declared.line, entry.reason)
        return named


def _sum(totals: Sequence[Totals]) -> Totals:
    whole = Totals()
    for one in totals:
        whole = whole.plus(one)
    return whole
