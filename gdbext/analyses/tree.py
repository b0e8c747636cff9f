# SPDX-License-Identifier: GPL-2.0-or-later
"""The calling-context tree: who ran below whom, for how long, and how deep calls went."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gdbext.analyses.refs import Name, numbered
from gdbext.analyses.repairs import TREE_LIMITS, repairs_of
from gdbext.errors import UsageError
from gdbext.replay.calls import NodeKind, TreeRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdbext.analyses.program import Program
    from gdbext.symbols import Function

__all__ = ["MAX_LEVELS", "CallNode", "CallTree", "Pruning", "merged", "report_tree"]

MAX_LEVELS: Final = 200
"""Levels that are shown at most: readers of nested JSON have limits of their own."""


@dataclass(frozen=True)
class Pruning:
    """Which nodes are shown; None: no bound. Nodes above a shown one are shown too."""

    depth: int | None = None
    """Levels below the roots, which have 1."""
    min_percent: float = 0.0
    """Of all instructions shown at the roots, inclusive."""
    top: int | None = None
    """So many nodes, those with the most inclusive instructions, and all roots."""


@dataclass(frozen=True)
class CallNode:
    """One path of calls, from a task or handler down to this function.

    `self_insns` ran in the function itself, `inclusive_insns` also in what it called; interrupt
    handlers have nodes of their own, at the top.
    """

    name: str
    address: int | None
    file: str | None
    kind: str
    """`call`, `tail`, `task`, `interrupt` or `exception`: how the function was entered."""
    calls: int
    self_insns: int
    inclusive_insns: int
    children: tuple[CallNode, ...]
    """Most inclusive instructions first."""
    hidden: int
    """Nodes below that were left out."""
    hidden_insns: int
    """Instructions of those."""

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return {
            "name": self.name,
            "address": self.address,
            "file": self.file,
            "kind": self.kind,
            "calls": self.calls,
            "self_insns": self.self_insns,
            "inclusive_insns": self.inclusive_insns,
            "hidden_nodes": self.hidden,
            "hidden_insns": self.hidden_insns,
            "children": [child.to_json() for child in self.children],
        }


@dataclass(frozen=True)
class CallTree:
    """The tree of a recording, or what ran below one function.

    Attributes:
        function: all activations of this one are merged in one root; None: the whole tree.
        instructions: of the whole recording.
        roots: tasks first, then handlers; most inclusive instructions first.
        max_depth: of the tree before it was pruned; a root has 1.
        deepest: the path that reached it, root first.
        more: roots and what is below them that were left out.
    """

    function: Name | None
    instructions: int
    roots: tuple[CallNode, ...]
    max_depth: int
    deepest: tuple[Name, ...]
    more: int
    repairs: dict[str, int]

    @property
    def inclusive_insns(self) -> int:
        """Of all roots shown."""
        return sum(root.inclusive_insns for root in self.roots)

    def sizes(self) -> tuple[int, int]:
        """How many nodes are shown, and how many were left out."""
        shown, hidden = 0, self.more
        todo = list(self.roots)
        while todo:
            node = todo.pop()
            shown += 1
            hidden += node.hidden
            todo += node.children
        return shown, hidden

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "gdbext/tree/1"."""
        return {
            "function": None if self.function is None else self.function._asdict(),
            "instructions": self.instructions,
            "max_depth": self.max_depth,
            "deepest": [name._asdict() for name in self.deepest],
            "hidden_nodes": self.more,
            "nodes": [root.to_json() for root in self.roots],
            "limits": dict(TREE_LIMITS),
            "repairs": self.repairs,
        }


def report_tree(program: Program, function: Function | None, pruning: Pruning) -> CallTree:
    """Answer `tree`.

    Raises:
        UsageError: the function never ran.
    """
    rows: Sequence[TreeRow] = program.calls.nodes
    deepest = program.calls.deepest
    name = None
    if function is not None:
        number = program.numbers.number_at(function.address)
        name = numbered(program, number)
        rows = merged(rows, number)
        if len(rows) == 1:
            raise UsageError(f"{function.name} never ran in this recording")
        deepest = max(range(len(rows)), key=lambda n: rows[n].depth)
    kept = _kept(rows, pruning)
    roots, more = _built(program, rows, kept)
    return CallTree(
        function=name,
        instructions=program.tables.instructions,
        roots=roots,
        max_depth=rows[deepest].depth,
        deepest=tuple(numbered(program, rows[n].function) for n in _path(rows, deepest)),
        more=more,
        repairs=repairs_of(program),
    )


def merged(rows: Sequence[TreeRow], function: int) -> list[TreeRow]:
    """A tree with one root below [0]: all outermost activations of a function, and their callees.

    Activations inside another of the same function stay below it.
    """
    kinds = {row.kind for row in rows if row.function == function}
    kind = kinds.pop() if len(kinds) == 1 else NodeKind.CALL
    totals: list[list[int]] = [[0, 0, 0]]  # calls, self, inclusive
    places = [(0, 0, NodeKind.ROOT, 0)]  # parent, function, kind, depth
    numbers: dict[tuple[int, int, NodeKind], int] = {}
    new_of: dict[int, int] = {}
    for n, row in enumerate(rows):
        parent = new_of.get(row.parent) if n else None
        if parent is None and (row.function != function or row.kind is NodeKind.ROOT):
            continue
        key = (parent, row.function, row.kind) if parent is not None else (0, function, kind)
        if key not in numbers:
            numbers[key] = len(places)
            places.append((key[0], key[1], key[2], places[key[0]][3] + 1))
            totals.append([0, 0, 0])
        new = new_of[n] = numbers[key]
        for i, value in enumerate((row.calls, row.self_insns, row.inclusive_insns)):
            totals[new][i] += value
    return [TreeRow(*place, *total) for place, total in zip(places, totals, strict=True)]


def _kept(rows: Sequence[TreeRow], pruning: Pruning) -> set[int]:
    """Nodes to show. A parent comes before its children and has no less inclusive cost."""
    levels = min(pruning.depth or MAX_LEVELS, MAX_LEVELS)
    whole = sum(row.inclusive_insns for row in rows[1:] if row.parent == 0)
    least = whole * pruning.min_percent / 100
    kept = [
        n
        for n in range(1, len(rows))
        if rows[n].depth <= levels and rows[n].inclusive_insns >= least
    ]
    if pruning.top is not None and pruning.top < len(kept):
        roots = [n for n in kept if rows[n].parent == 0]
        kept = heapq.nsmallest(pruning.top, kept, key=lambda n: (-rows[n].inclusive_insns, n))
        kept += roots
    return set(kept)


def _built(
    program: Program, rows: Sequence[TreeRow], kept: set[int]
) -> tuple[tuple[CallNode, ...], int]:
    """The roots, and how many nodes were left out with roots of their own."""
    hidden = [0] * len(rows)
    hidden_insns = [0] * len(rows)
    children: dict[int, list[CallNode]] = {}
    for n in range(len(rows) - 1, 0, -1):
        row = rows[n]
        if n not in kept:
            hidden[row.parent] += 1 + hidden[n]
            hidden_insns[row.parent] += row.inclusive_insns
            continue
        node = CallNode(
            *numbered(program, row.function),
            kind=row.kind.name.lower(),
            calls=row.calls,
            self_insns=row.self_insns,
            inclusive_insns=row.inclusive_insns,
            children=tuple(_in_order(children.pop(n, []))),
            hidden=hidden[n],
            hidden_insns=hidden_insns[n],
        )
        children.setdefault(row.parent, []).append(node)
    return tuple(_in_order(children.pop(0, []))), hidden[0]


def _in_order(nodes: list[CallNode]) -> list[CallNode]:
    return sorted(
        nodes,
        key=lambda node: (
            node.kind in ("interrupt", "exception", "trap"),
            -node.inclusive_insns,
            node.address or 0,
        ),
    )


def _path(rows: Sequence[TreeRow], node: int) -> list[int]:
    """The node with those above it, root first."""
    path = []
    while node:
        path.append(node)
        node = rows[node].parent
    return path[::-1]
