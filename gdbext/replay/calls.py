# SPDX-License-Identifier: GPL-2.0-or-later
"""What the reconstruction engine found: the tree of calls, handlers and tasks.

Functions are numbers (gdbext/replay/functions.py). Instructions are the vCPUs' own; a handler's
are never part of what it interrupted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "HANDLER_KINDS",
    "MAX_DEPTH",
    "MAX_OPEN_CALLS",
    "MAX_PATHS",
    "CallTables",
    "Cost",
    "HandlerRow",
    "NodeKind",
    "TaskRow",
    "TreeRow",
]


MAX_DEPTH: Final = 1000
"""Depth of the tree. Twins of these three: qemu-plugin/tree.h and engine.h."""
MAX_PATHS: Final = 1 << 20
"""Nodes of the tree, its root among them."""
MAX_OPEN_CALLS: Final = 1 << 18
"""Activations of a stack; the outermost half of a deeper one is forgotten."""


class NodeKind(IntEnum):
    """How a node of the tree was entered. Twin: GX_NODE_* in qemu-plugin/tree.h."""

    ROOT = 0
    CALL = 1
    TAIL = 2
    TASK = 3
    """Where a task begins, or what ran first."""
    INTERRUPT = 4
    EXCEPTION = 5
    TRAP = 6
    """An interrupt or an exception; which of them is not known."""
    INLINED = 7
    """A function that the compiler made part of its parent's code."""


HANDLER_KINDS = frozenset({NodeKind.INTERRUPT, NodeKind.EXCEPTION, NodeKind.TRAP})
"""Kinds of the nodes that handlers begin with."""


class TreeRow(NamedTuple):
    """A node of the calling-context tree: one path of calls. Parents come before children."""

    parent: int
    function: int
    kind: NodeKind
    depth: int
    calls: int
    self_insns: int
    inclusive_insns: int


class Cost(NamedTuple):
    """One function over all its nodes; `inclusive_insns` of its outermost activations."""

    calls: int
    self_insns: int
    inclusive_insns: int


class HandlerRow(NamedTuple):
    """One handler, by the address of its first instruction.

    `min_insns` to `max_insns` are about the `complete` ones of `runs`, nested handlers not
    counted; medians are exact below 4,096 and to 12 bits above. Periods: instructions of the vCPU
    between entries.
    """

    address: int
    runs: int
    complete: int
    tail_chained: int
    max_nesting: int
    self_insns: int
    min_insns: int
    median_insns: int
    max_insns: int
    min_period: int
    median_period: int
    max_period: int
    kinds: int
    """Bits by NodeKind."""


class TaskRow(NamedTuple):
    """One task: a stack of calls of its own. `longest_run`: instructions between two switches.

    `stack_pointer` is one that it had, None where none was seen.
    """

    vcpu: int
    entry_function: int
    switches_in: int
    self_insns: int
    longest_run: int
    stack_pointer: int | None = None


@dataclass(frozen=True)
class CallTables:
    """The engine's results up to one moment.

    Attributes:
        nodes: the tree; [0] is its root, the parent of tasks and handlers.
        costs: by function number.
        deepest: node of the greatest depth.
        cut_calls: calls without a node of their own (too deep, or too many paths); their
            instructions are their caller's.
    """

    nodes: Sequence[TreeRow]
    costs: Sequence[Cost]
    handlers: Sequence[HandlerRow]
    tasks: Sequence[TaskRow]
    deepest: int
    cut_calls: int
