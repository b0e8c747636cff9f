# SPDX-License-Identifier: GPL-2.0-or-later
"""The tree of calls with inlined functions as nodes of their own.

An inlined function's node has the instructions that the compiler's debug information gives it,
below the function whose code they are part of; what it calls is below it. It is not called, so
it has no calls.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from gdbext.replay.calls import CallTables, Cost, NodeKind, TreeRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdbext.recording.blocks import BlockTable
    from gdbext.replay.functions import FunctionNumbers
    from gdbext.replay.inlines import InlineChains, NodeBlock

__all__ = ["is_outermost", "with_inlined"]


def with_inlined(
    calls: CallTables,
    node_blocks: Iterable[NodeBlock],
    blocks: BlockTable,
    chains: InlineChains,
    numbers: FunctionNumbers,
) -> CallTables:
    """The engine's tables with a node for each inlined function of each path.

    Args:
        calls: of a replay that knew the chains.
        numbers: gets numbers for the inlined functions.
    """
    tree = _Tree(calls.nodes[0])
    moved = _insns_of_chains(node_blocks, blocks, chains)
    new_of = [0]
    for n, row in enumerate(calls.nodes[1:], 1):
        if row.kind is NodeKind.INLINED:
            chain = chains.chains[row.function - chains.first]
            new_of.append(tree.inlined(new_of[row.parent], chain, numbers))
            continue
        new = tree.add(new_of[row.parent], row.function, row.kind, row.depth)
        tree.calls[new] += row.calls
        tree.insns[new] += row.self_insns
        for chain_number, n_insns in moved.get(n, {}).items():
            tree.insns[new] -= n_insns
            tree.insns[tree.inlined(new, chains.chains[chain_number], numbers)] += n_insns
        new_of.append(new)
    rows = tree.rows()
    return replace(calls, nodes=rows, costs=_costs(rows, numbers), deepest=new_of[calls.deepest])


class _Tree:
    """Nodes as they are made; parents come before children."""

    def __init__(self, root: TreeRow) -> None:
        self._nodes = [(root.parent, root.function, root.kind, root.depth)]
        self.calls = [root.calls]
        self.insns = [root.self_insns]
        self._inlined: dict[tuple[int, int], int] = {}

    def add(self, parent: int, function: int, kind: NodeKind, depth: int) -> int:
        self._nodes.append((parent, function, kind, depth))
        self.calls.append(0)
        self.insns.append(0)
        return len(self._nodes) - 1

    def inlined(self, node: int, chain: tuple[str, ...], numbers: FunctionNumbers) -> int:
        """The node of the chain's innermost function below `node`, made when new."""
        depth = self._nodes[node][3]
        for name in chain:
            key = (node, numbers.of_inlined(name))
            if key not in self._inlined:
                self._inlined[key] = self.add(*key, NodeKind.INLINED, depth)
            node = self._inlined[key]
        return node

    def rows(self) -> list[TreeRow]:
        inclusive = list(self.insns)
        for n in range(len(self._nodes) - 1, 0, -1):
            inclusive[self._nodes[n][0]] += inclusive[n]
        return [
            TreeRow(*node, *numbers)
            for node, *numbers in zip(self._nodes, self.calls, self.insns, inclusive, strict=True)
        ]


def _insns_of_chains(
    node_blocks: Iterable[NodeBlock], blocks: BlockTable, chains: InlineChains
) -> dict[int, dict[int, int]]:
    """Instructions by node and chain, those that no inlined function has left out."""
    insns: defaultdict[int, dict[int, int]] = defaultdict(dict)
    of_block: dict[int, list[int]] = {}
    for node, block, lost, n in node_blocks:
        if block not in of_block:
            of_block[block] = chains.of_insns(blocks, block)
        of_insns = of_block[block]
        sign = -1 if lost else 1
        for chain in of_insns[len(of_insns) - lost :] if lost else of_insns:
            if chain:
                insns[node][chain] = insns[node].get(chain, 0) + sign * n
    return insns


def _costs(rows: list[TreeRow], numbers: FunctionNumbers) -> list[Cost]:
    """By function number; inclusive instructions of outermost activations."""
    totals = [[0, 0, 0] for _ in range(numbers.n_with_inlined)]
    for n, row in enumerate(rows[1:], 1):
        total = totals[row.function]
        total[0] += row.calls
        total[1] += row.self_insns
        total[2] += row.inclusive_insns if is_outermost(rows, n) else 0
    return [Cost(*total) for total in totals]


def is_outermost(nodes: Sequence[TreeRow], node: int) -> bool:
    """Whether no node above is of the same function."""
    function = nodes[node].function
    node = nodes[node].parent
    while node:
        if nodes[node].function == function:
            return False
        node = nodes[node].parent
    return True
