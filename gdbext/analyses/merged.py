# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage of several recordings together, and what each of them adds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from gdbext.analyses.runs import (
    NOTHING,
    Run,
    Seen,
    builds_of,
    coverage_of,
    seen_in,
)
from gdbext.coverage.measure import measure
from gdbext.coverage.union import function_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdbext.coverage.measure import Settings
    from gdbext.coverage.model import Coverage, Totals

__all__ = ["Contribution", "Merged", "coverage_alone", "merge"]


@dataclass(frozen=True)
class Contribution:
    """What one recording covered of the whole."""

    run: Run
    build: int
    totals: Totals
    """Of the recording alone."""
    seen: Seen
    added: Seen
    """What no recording before it covered."""
    only: Seen
    """What no other recording covered."""

    def to_json(self) -> dict[str, Any]:
        """recording, build, totals, added and only by number."""
        return {
            "recording": self.run.name,
            "build": self.build,
            "totals": self.totals.to_json(),
            "added": _sizes(self.added),
            "only": _sizes(self.only),
        }


@dataclass(frozen=True)
class Merged:
    """The answer."""

    coverage: Coverage
    builds: tuple[Run, ...]
    """A run of each, whose ELF file was used."""
    recordings: tuple[Contribution, ...]
    """In the order they were given."""

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "gdbext/merge/1"."""
        lines: dict[tuple[str, int], list[int]] = {}
        functions: dict[tuple[str, str, int], list[int]] = {}
        for number, each in enumerate(self.recordings):
            for place in each.seen.lines:
                lines.setdefault(place, []).append(number)
            for named in each.seen.functions:
                functions.setdefault(named, []).append(number)
        content = self.coverage.to_json()
        for file, shown in zip(self.coverage.files, content["files"], strict=True):
            for row in shown["lines"]:
                row["recordings"] = lines.get((file.path, row["line"]), [])
            for key, row in zip(function_keys(file), shown["functions"], strict=True):
                row["recordings"] = functions.get((file.path, *key), [])
        return {
            "builds": [
                {"elf": str(run.symbols.path), "code_sha256": run.symbols.code_sha256}
                for run in self.builds
            ],
            "recordings": [each.to_json() for each in self.recordings],
            **content,
        }


def merge(runs: Sequence[Run], settings: Settings) -> Merged:
    """Put the coverage of several recordings together.

    Raises:
        SymbolError: debug information is damaged.
    """
    builds = builds_of(runs)
    coverage = coverage_of(builds, settings)
    number = {run.code: n for n, build in enumerate(builds) for run in build}
    alone = []
    for run in runs:
        build = number[run.code]
        own = _alone(run, builds[build][0], settings)
        alone.append((run, build, own.totals, seen_in(own, build)))
    lines = Counter(chain.from_iterable(seen.lines for _, _, _, seen in alone))
    functions = Counter(chain.from_iterable(seen.functions for _, _, _, seen in alone))
    branches = Counter(chain.from_iterable(seen.branches for _, _, _, seen in alone))
    before, recordings = NOTHING, []
    for run, build, totals, seen in alone:
        only = Seen(
            frozenset(line for line in seen.lines if lines[line] == 1),
            frozenset(function for function in seen.functions if functions[function] == 1),
            frozenset(branch for branch in seen.branches if branches[branch] == 1),
        )
        recordings.append(Contribution(run, build, totals, seen, seen - before, only))
        before |= seen
    notes = [*coverage.notes]
    for run in runs:
        notes += (f"{run.name}: {remark}" for remark in run.remarks)
    if len(builds) > 1:
        notes.append(
            f"{len(builds)} builds: lines and functions are united by file, line and name; "
            "instructions and branches add up"
        )
    return Merged(
        replace(coverage, notes=tuple(notes)),
        tuple(build[0] for build in builds),
        tuple(recordings),
    )


def coverage_alone(merged: Merged, each: Contribution, settings: Settings) -> Coverage:
    """Coverage by one of the recordings; it is measured again, since all together are large."""
    return _alone(each.run, merged.builds[each.build], settings)


def _alone(run: Run, build: Run, settings: Settings) -> Coverage:
    return measure(build.symbols, run.target, run.execution, settings)


def _sizes(seen: Seen) -> dict[str, int]:
    return {
        "lines": len(seen.lines),
        "functions": len(seen.functions),
        "branches": len(seen.branches),
    }
