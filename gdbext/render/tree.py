# SPDX-License-Identifier: GPL-2.0-or-later
"""The calling-context tree as text, with lines that tell what is below what."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from gdbext.render.numbers import amount, percent
from gdbext.render.page import Column, Page, Table
from gdbext.render.repairs import render_repairs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdbext.analyses.tree import CallNode, CallTree

__all__ = ["render_tree"]


def render_tree(page: Page, tree: CallTree) -> None:
    """Print the tree, then the deepest path."""
    table = Table(
        "",
        [
            Column("inclusive", "right"),
            Column("share", "right"),
            Column("self", "right"),
            Column("calls", "right"),
            Column("function"),
        ],
    )
    whole = tree.instructions
    # Node, the lines before its name, the lines before its children's.
    todo: list[tuple[CallNode, str, str]] = [(root, "", "") for root in reversed(tree.roots)]
    while todo:
        node, own, below = todo.pop()
        table.add(
            amount(node.inclusive_insns),
            percent(node.inclusive_insns, whole),
            amount(node.self_insns),
            "" if node.kind == "inlined" else amount(node.calls),
            f"{own}{node.name}{_marks(node)}",
        )
        last = len(node.children) - 1
        for n in range(last, -1, -1):
            ends = n == last
            todo.append(
                (
                    node.children[n],
                    below + ("└─ " if ends else "├─ "),
                    below + ("   " if ends else "│  "),
                )
            )
    page.table(table)
    if tree.more:
        page.line(f"  ({amount(tree.more)} more roots and calls; --top N shows more)")
    at_least = "at least " if tree.repairs.get("cut_calls") else ""
    page.line(f"Deepest: {at_least}{tree.max_depth}, {_path(name.name for name in tree.deepest)}")
    render_repairs(page, tree.repairs)


def _marks(node: CallNode) -> str:
    marks = f" ({node.kind})" if node.kind != "call" else ""
    if node.hidden:
        marks += f"  … {amount(node.hidden)} more below: {amount(node.hidden_insns)}"
    return marks


def _path(names: Iterable[str]) -> str:
    """`main > work > again ×4 > leaf`."""
    parts = []
    for name, same in groupby(names):
        n = len(list(same))
        parts.append(name if n == 1 else f"{name} ×{n}")
    return " > ".join(parts)
