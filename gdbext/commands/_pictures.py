# SPDX-License-Identifier: GPL-2.0-or-later
"""Drawing a call graph or tree to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from gdbext.commands.context import tell
from gdbext.commands.registry import Argument
from gdbext.render.numbers import counted

if TYPE_CHECKING:
    from gdbext.analyses.graph import CallGraph
    from gdbext.analyses.tree import CallTree
    from gdbext.commands.context import Context

__all__ = ["PICTURE", "draw_graph", "draw_tree"]

PICTURE: Final = Argument(
    "-o",
    "Draw it to this file: .svg, .png or .pdf (with Graphviz), or its source .dot.",
    metavar="FILE",
    parse=Path,
    completes="file",
)


def draw_graph(context: Context, path: Path, graph: CallGraph) -> None:
    """Write the picture and say what is in it."""
    # Only now: most commands draw nothing.
    from gdbext.exporters.dot import graph_dot, write_picture

    write_picture(graph_dot(graph), path.expanduser())
    more = f", {graph.hidden:,} left out (--top N shows more)" if graph.hidden else ""
    arrows = counted(len(graph.arcs), "arrow")
    tell(context, f"{path}: {counted(len(graph.nodes), 'function')}, {arrows}{more}")


def draw_tree(context: Context, path: Path, tree: CallTree) -> None:
    """Write the picture and say what is in it."""
    from gdbext.exporters.dot import tree_dot, write_picture

    write_picture(tree_dot(tree), path.expanduser())
    shown, hidden = tree.sizes()
    more = f", {hidden:,} left out (--top N shows more)" if hidden else ""
    tell(context, f"{path}: {counted(shown, 'path')} of calls{more}")
