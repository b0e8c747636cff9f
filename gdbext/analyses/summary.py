# SPDX-License-Identifier: GPL-2.0-or-later
"""What was executed in total: instructions, functions, code outside the ELF file, gaps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gdbext.replay.tables import TrapSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdbext.analyses.filtered import Filtered
    from gdbext.analyses.program import Program
    from gdbext.replay.tables import Stats

__all__ = ["FunctionCount", "Gaps", "OutsideRegion", "Summary", "summarize"]

# Addresses nearer than this to each other are one region.
REGION_GAP = 4096


@dataclass(frozen=True)
class FunctionCount:
    """One function of the ELF file; `calls` counts entries but for traps."""

    name: str
    address: int
    size: int
    calls: int
    self_insns: int
    executed: bool
    file: str | None

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


@dataclass(frozen=True)
class OutsideRegion:
    """Executed code [start, end) that no function of the ELF file holds."""

    name: str
    start: int
    end: int
    self_insns: int

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


@dataclass(frozen=True)
class Gaps:
    """Where something was not recorded; `n_blocks` as far as known."""

    count: int
    n_blocks: int

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


@dataclass(frozen=True)
class Summary:
    """A recording as a whole; self counts of `functions` and `outside` add up to `instructions`."""

    instructions: int
    blocks: int
    vcpus: dict[int, int]
    """Instructions by vCPU."""
    functions: tuple[FunctionCount, ...]
    """All of the ELF file, most self instructions first."""
    outside: tuple[OutsideRegion, ...]
    gaps: Gaps
    filtered: Filtered
    cut: str | None
    undecided_blocks: int
    unknown_blocks: int
    inferred_traps: int
    stats: Stats
    notes: tuple[str, ...]

    @property
    def never_executed(self) -> tuple[FunctionCount, ...]:
        """Functions of which no instruction ran, by address."""
        return tuple(sorted((f for f in self.functions if not f.executed), key=lambda f: f.address))

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "analyze --json"."""
        return {
            "instructions": self.instructions,
            "blocks": self.blocks,
            "vcpus": [{"vcpu": vcpu, "instructions": n} for vcpu, n in self.vcpus.items()],
            "functions": [function.to_json() for function in self.functions],
            "outside": [region.to_json() for region in self.outside],
            "gaps": self.gaps.to_json(),
            "filtered": self.filtered.to_json(),
            "cut": self.cut,
            "undecided_blocks": self.undecided_blocks,
            "unknown_blocks": self.unknown_blocks,
            "inferred_traps": self.inferred_traps,
            "repairs": asdict(self.stats),
            "notes": list(self.notes),
        }


def summarize(
    program: Program, cut: str | None, notes: Sequence[str], filtered: Filtered
) -> Summary:
    """Answer `analyze` without a function.

    Args:
        cut: why the recording ends early, None if it does not.
        notes: further lines for people.
        filtered: what was left out.
    """
    tables = program.tables
    counts = [
        FunctionCount(
            name=function.name,
            address=function.address,
            size=function.size,
            calls=program.entries.of(function.address).entries.calls,
            self_insns=program.self_insns.get(function.address, 0),
            executed=function.address in program.self_insns,
            file=function.file,
        )
        for function in program.symbols.functions
    ]
    counts.sort(key=lambda function: (-function.self_insns, function.address))
    return Summary(
        instructions=tables.instructions,
        blocks=sum(tables.n_blocks.values()),
        vcpus=tables.n_insns,
        functions=tuple(counts),
        outside=_outside(program),
        gaps=Gaps(tables.stats.gaps, tables.stats.gap_blocks),
        filtered=filtered,
        cut=cut,
        undecided_blocks=program.classes.undecided,
        unknown_blocks=program.classes.unknown,
        inferred_traps=sum(t.n for t in tables.traps if t.source is TrapSource.INFERRED),
        stats=tables.stats,
        notes=tuple(notes),
    )


def _outside(program: Program) -> tuple[OutsideRegion, ...]:
    symbols = program.symbols
    nameless: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for address, n in program.counts.program.items():
        if symbols.function_at(address) is None:
            nameless[symbols.is_code(address)].append((address, n))
    return (
        *_regions("code outside the ELF file", nameless[False]),
        *_regions("code of the ELF file that no function holds", nameless[True]),
        *_regions("code changed at run time", program.counts.changed.items()),
    )


def _regions(name: str, counts: Iterable[tuple[int, int]]) -> list[OutsideRegion]:
    regions: list[OutsideRegion] = []
    for address, n in sorted(counts):
        end = address + 2  # at least; sizes differ
        if regions and address - regions[-1].end < REGION_GAP:
            last = regions[-1]
            regions[-1] = OutsideRegion(name, last.start, end, last.self_insns + n)
        else:
            regions.append(OutsideRegion(name, address, end, n))
    return sorted(regions, key=lambda region: -region.self_insns)
