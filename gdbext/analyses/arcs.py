# SPDX-License-Identifier: GPL-2.0-or-later
"""Inclusive cost of arcs: what a function and all below it cost when one caller called it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.replay.calls import NodeKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdbext.replay.calls import TreeRow

__all__ = ["arc_insns"]


def arc_insns(nodes: Sequence[TreeRow]) -> dict[tuple[int, int], int]:
    """Inclusive instructions by (caller, callee), as function numbers above 0.

    An arc inside the same arc (recursion) counts once. Arcs that only tail calls round a circle
    took have no node, and are missing.
    """
    result: dict[tuple[int, int], int] = {}
    for row in nodes:
        if row.kind not in (NodeKind.CALL, NodeKind.TAIL) or not row.parent:
            continue
        arc = (nodes[row.parent].function, row.function)
        if all(arc) and not _is_below_itself(nodes, row, arc):
            result[arc] = result.get(arc, 0) + row.inclusive_insns
    return result


def _is_below_itself(nodes: Sequence[TreeRow], row: TreeRow, arc: tuple[int, int]) -> bool:
    up = nodes[row.parent]
    while up.parent:
        above = nodes[up.parent]
        if (above.function, up.function) == arc:
            return True
        up = above
    return False
