# SPDX-License-Identifier: GPL-2.0-or-later
"""Several recordings, and which of them are of the same code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gdbext.coverage.execution import Execution
from gdbext.coverage.measure import measure
from gdbext.coverage.union import function_keys, united

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdbext.analyses.workspace import Workspace
    from gdbext.coverage.measure import Settings
    from gdbext.coverage.model import Coverage, FileCoverage
    from gdbext.symbols import Symbols

__all__ = ["NOTHING", "Run", "Seen", "all_files", "builds_of", "coverage_of", "run_of", "seen_in"]


@dataclass(frozen=True)
class Run:
    """What one recording ran, and of which program."""

    name: str
    """The recording's path, as it was given."""
    symbols: Symbols
    target: str
    execution: Execution
    remarks: tuple[str, ...]
    """What bears on the trust in its numbers."""

    @property
    def code(self) -> tuple[str, str]:
        """Equal for two runs of the same code bytes."""
        return self.symbols.code_sha256, self.target


@dataclass(frozen=True)
class Seen:
    """What was covered, with names that recordings share."""

    lines: frozenset[tuple[str, int]]
    """Path and number."""
    functions: frozenset[tuple[str, str, int]]
    """Path (empty without one), name, and which one of that name in the file."""
    branches: frozenset[tuple[int, int, bool]]
    """Number of the build, address, and whether it was taken."""

    def __or__(self, other: Seen) -> Seen:
        return Seen(
            self.lines | other.lines,
            self.functions | other.functions,
            self.branches | other.branches,
        )

    def __sub__(self, other: Seen) -> Seen:
        return Seen(
            self.lines - other.lines,
            self.functions - other.functions,
            self.branches - other.branches,
        )


NOTHING = Seen(frozenset(), frozenset(), frozenset())


def run_of(workspace: Workspace, name: str, others: Sequence[Run] = ()) -> Run:
    """What a recording ran; the workspace is not needed any more.

    Args:
        others: runs whose symbols are taken if they are of the same ELF file: they are large.
    """
    symbols = workspace.symbols
    for other in others:
        if other.symbols.sha256 == symbols.sha256:
            _know_found(other.symbols, symbols)
            symbols = other.symbols
            break
    return Run(
        name,
        symbols,
        workspace.program.target,
        workspace.execution(),
        tuple(workspace.remarks()),
    )


def builds_of(runs: Sequence[Run]) -> list[list[Run]]:
    """The runs of each build, builds in the order of their first run.

    In each, a run whose ELF file has source lines comes first, if there is one. Of a stripped
    program that run's symbols get the functions that the others called.
    """
    builds: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        builds.setdefault(run.code, []).append(run)
    ordered = [
        sorted(build, key=lambda run: not run.symbols.sources.has_lines())
        for build in builds.values()
    ]
    for first, *others in ordered:
        for run in others:
            _know_found(first.symbols, run.symbols)
    return ordered


def _know_found(symbols: Symbols, others: Symbols) -> None:
    """Of a stripped program each run knows only the functions that it called: know them too."""
    if symbols.stripped and symbols is not others:
        symbols.add_found(f.address for f in others.functions if f.origin == "found")


def coverage_of(builds: Sequence[Sequence[Run]], settings: Settings) -> Coverage:
    """What all runs covered: exact for each build, builds united by source line."""
    parts = []
    for build in builds:
        whole = Execution()
        for run in build:
            whole.add(run.execution)
        parts.append(measure(build[0].symbols, build[0].target, whole, settings))
    return united(parts)


def seen_in(coverage: Coverage, build: int) -> Seen:
    """What was covered; exclusions are left out."""
    lines, functions, branches = [], [], []
    for file in all_files(coverage):
        lines += [
            (file.path, line.line) for line in file.lines if line.covered and line.excluded is None
        ]
        functions += [
            (file.path, *key)
            for key, function in zip(function_keys(file), file.functions, strict=True)
            if function.covered and function.excluded is None
        ]
        for branch in file.branches:
            if branch.excluded is None:
                ways = ((True, branch.taken), (False, branch.not_taken))
                branches += [(build, branch.address, way) for way, n in ways if n]
    return Seen(frozenset(lines), frozenset(functions), frozenset(branches))


def all_files(coverage: Coverage) -> Iterator[FileCoverage]:
    """The files; the code that none holds too, where it is all there is."""
    yield from coverage.files
    if not coverage.files:
        yield coverage.no_source
