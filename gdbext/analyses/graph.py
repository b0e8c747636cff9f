# SPDX-License-Identifier: GPL-2.0-or-later
"""The call graph: functions that ran, and the calls between them."""

from __future__ import annotations

import heapq
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gdbext.analyses.refs import numbered
from gdbext.analyses.repairs import repairs_of
from gdbext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdbext.analyses.program import Program
    from gdbext.analyses.tree import Pruning
    from gdbext.symbols import Function

__all__ = ["CallGraph", "GraphArc", "GraphNode", "report_graph"]


@dataclass(frozen=True)
class GraphNode:
    """One function; `id` is what arcs name it by."""

    id: int
    name: str
    address: int | None
    file: str | None
    root: str | None
    """`task`, `interrupt` or `exception` if something begins here; None: only ever called."""
    calls: int
    """Times it was entered, as a handler too."""
    self_insns: int
    inclusive_insns: int


@dataclass(frozen=True)
class GraphArc:
    """`count` calls from one function to another, by ids."""

    caller: int
    callee: int
    kind: str
    """`call`, or `tail` for a jump."""
    count: int


@dataclass(frozen=True)
class CallGraph:
    """Functions with the most inclusive instructions first, and the arcs between those.

    Attributes:
        instructions: of the whole recording; counts are always those of the whole recording.
        hidden: functions that ran and were left out.
    """

    instructions: int
    nodes: tuple[GraphNode, ...]
    arcs: tuple[GraphArc, ...]
    hidden: int
    repairs: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "gdbext/graph/1"."""
        return {
            "instructions": self.instructions,
            "nodes": [asdict(node) for node in self.nodes],
            "arcs": [asdict(arc) for arc in self.arcs],
            "hidden_nodes": self.hidden,
            "repairs": self.repairs,
        }


def report_graph(program: Program, root: Function | None, pruning: Pruning) -> CallGraph:
    """Answer `graph`.

    Args:
        root: only what can be reached from this function by calls that happened.
        pruning: `depth` counts from `root`, or from where tasks and handlers begin.

    Raises:
        UsageError: `root` never ran.
    """
    costs = program.calls.costs
    ran = {n for n, cost in enumerate(costs) if cost.calls or cost.inclusive_insns}
    arcs = _arcs(program)
    if root is None:
        first = {row.function for row in program.calls.nodes[1:] if row.parent == 0}
    else:
        first = {program.numbers.number_at(root.address)}
        if not first & ran:
            raise UsageError(f"{root.name} never ran in this recording")
    reached = ran if root is None and pruning.depth is None else _reached(first, arcs, pruning)
    least = program.tables.instructions * pruning.min_percent / 100
    kept = [n for n in reached & ran if n in first or costs[n].inclusive_insns >= least]
    order = heapq.nsmallest(
        pruning.top or len(kept), kept, key=lambda n: (-costs[n].inclusive_insns, n)
    )
    shown = set(order)
    roots = _roots(program)
    return CallGraph(
        instructions=program.tables.instructions,
        nodes=tuple(GraphNode(n, *numbered(program, n), roots.get(n), *costs[n]) for n in order),
        arcs=tuple(arc for arc in arcs if arc.caller in shown and arc.callee in shown),
        hidden=len(ran) - len(order),
        repairs=repairs_of(program),
    )


def _arcs(program: Program) -> Sequence[GraphArc]:
    """All calls by pair of functions and kind."""
    counts: dict[tuple[int, int, str], int] = {}
    for address, arrivals in program.entries.arrivals.items():
        callee = program.numbers.number_at(address)
        for site, n in arrivals.sites.items():
            caller = program.numbers.number_at(site)
            jumps = arrivals.jumps.get(site, 0)
            for kind, count in (("call", n - jumps), ("tail", jumps)):
                if count:
                    arc = (caller, callee, kind)
                    counts[arc] = counts.get(arc, 0) + count
    return [GraphArc(*arc, count) for arc, count in sorted(counts.items())]


def _reached(first: Iterable[int], arcs: Iterable[GraphArc], pruning: Pruning) -> set[int]:
    """Functions at most `depth - 1` calls away from the first ones."""
    callees: dict[int, set[int]] = {}
    for arc in arcs:
        callees.setdefault(arc.caller, set()).add(arc.callee)
    reached = level = set(first)
    depth = 1
    while level and (pruning.depth is None or depth < pruning.depth):
        level = {callee for caller in level for callee in callees.get(caller, ())} - reached
        reached = reached | level
        depth += 1
    return reached


def _roots(program: Program) -> dict[int, str]:
    """What begins at a function; handlers before tasks where both do."""
    roots: dict[int, str] = {}
    for row in program.calls.nodes[1:]:
        if row.parent == 0 and roots.get(row.function) not in ("interrupt", "exception", "trap"):
            roots[row.function] = row.kind.name.lower()
    return roots
