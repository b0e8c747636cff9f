# SPDX-License-Identifier: GPL-2.0-or-later
"""Entries into functions: by call, tail jump, trap, or by a way that was not recorded.

An entry is the arrival at a function's first instruction from outside, or from the function itself
by a call instruction (recursion). A jump back to the first instruction from inside is a loop.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from gdbext.replay.counts import last_insn
from gdbext.replay.kinds import EndKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gdbext.recording.blocks import BlockTable
    from gdbext.replay.classify import Classifier
    from gdbext.replay.tables import Edge, Tables
    from gdbext.symbols import Function, Symbols

__all__ = ["Arrivals", "Entries", "EntryMap", "Reached", "entries_of", "find_entries"]


@dataclass
class Entries:
    """How often a function was entered, by kind.

    Attributes:
        call: by a call instruction.
        tail: by a jump, veneer, or falling into it from the code before.
        trap: as the handler of an interrupt or exception.
        other: the way was not recorded: first code after start or reset, a task that a scheduler
            starts, a return into the function's first instruction.
    """

    call: int = 0
    tail: int = 0
    trap: int = 0
    other: int = 0

    @property
    def calls(self) -> int:
        """All but traps."""
        return self.call + self.tail + self.other

    def to_json(self) -> dict[str, Any]:
        """The counts by name."""
        return asdict(self)


@dataclass
class Arrivals:
    """Entries into one function.

    Attributes:
        sites: by address of the calling or jumping instruction: count.
        jumps: of these, what was no call instruction.
    """

    entries: Entries = field(default_factory=Entries)
    sites: dict[int, int] = field(default_factory=dict)
    jumps: dict[int, int] = field(default_factory=dict)


@dataclass
class EntryMap:
    """Entries of all functions, by function address."""

    arrivals: dict[int, Arrivals] = field(default_factory=dict)

    def of(self, address: int) -> Arrivals:
        """The function at `address`; all zero if it was never entered."""
        return self.arrivals.get(address) or Arrivals()


class Reached(NamedTuple):
    """How blocks were reached; see Tables.

    Attributes:
        traps: entries by traps, by block id.
        blocks: ids to look at in `other` and `continued`.
    """

    edges: Iterable[Edge]
    traps: Mapping[int, int]
    blocks: Iterable[int]
    other: Sequence[int]
    continued: Sequence[int]


def find_entries(
    blocks: BlockTable, classes: Classifier, tables: Tables, symbols: Symbols
) -> EntryMap:
    """All entries of all functions in the ELF file."""
    traps: dict[int, int] = {}
    for trap in tables.traps:
        traps[trap.to] = traps.get(trap.to, 0) + trap.n
    reached = Reached(
        tables.edges,
        traps,
        range(len(blocks)),
        tables.other_arrivals,
        tables.continued,
    )
    starts = {function.address: function for function in symbols.functions}
    return _entries(blocks, classes, reached, symbols, starts)


def entries_of(
    blocks: BlockTable,
    classes: Classifier,
    reached: Reached,
    symbols: Symbols,
    function: Function,
) -> Entries:
    """Entries of one function.

    Args:
        reached: at least what arrived at its first instruction.
    """
    found = _entries(blocks, classes, reached, symbols, {function.address: function})
    return found.of(function.address).entries


def _entries(
    blocks: BlockTable,
    classes: Classifier,
    reached: Reached,
    symbols: Symbols,
    starts: dict[int, Function],
) -> EntryMap:
    """Entries of the functions in `starts`, which are by address."""
    result = EntryMap()

    def arrivals(address: int) -> Arrivals:
        return result.arrivals.setdefault(address, Arrivals())

    recovered: dict[int, int] = {}
    for edge in reached.edges:
        address = blocks.address[edge.to]
        callee = starts.get(address)
        if callee is None:
            continue
        recovered[edge.to] = recovered.get(edge.to, 0) + edge.recovered
        site = last_insn(blocks, edge.from_)
        kind = _entry_kind(blocks, classes, edge.from_, address, symbols.function_at(site), callee)
        if kind is None:
            continue
        at = arrivals(address)
        setattr(at.entries, kind, getattr(at.entries, kind) + edge.total)
        if kind != "other":
            at.sites[site] = at.sites.get(site, 0) + edge.total
        if kind == "tail":
            at.jumps[site] = at.jumps.get(site, 0) + edge.total
    for block, n in reached.traps.items():
        if blocks.address[block] in starts:
            arrivals(blocks.address[block]).entries.trap += n
    for block in reached.blocks:
        n = reached.other[block]
        known = reached.traps.get(block, 0) + recovered.get(block, 0) + reached.continued[block]
        if n > known and blocks.address[block] in starts:
            arrivals(blocks.address[block]).entries.other += n - known
    return result


def _entry_kind(
    blocks: BlockTable,
    classes: Classifier,
    from_: int,
    address: int,
    caller: Function | None,
    callee: Function,
) -> str | None:
    """`call`, `tail` or `other` for an arrival at the first instruction; None: no entry."""
    kind = classes.end_kind[from_]
    falls = address == blocks.address[from_] + blocks.n_bytes[from_]
    taken = not falls or classes.target[from_] == address
    if kind in (EndKind.CALL, EndKind.CALL_INDIRECT) and taken:
        return "call"
    if kind in (EndKind.RETURN, EndKind.TRAP_RETURN) and taken:
        return "other"
    return None if caller is callee else "tail"
