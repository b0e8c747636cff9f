# SPDX-License-Identifier: GPL-2.0-or-later
"""Call graph and call tree as Graphviz DOT, and as pictures that its program `dot` draws.

Colour tells self cost, the width of an arrow what went through it. Handlers and tasks are roots of
their own; tail calls are dashed. DOT language: https://graphviz.org/doc/info/lang.html.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import graphviz

from gdbext.errors import TargetError, UsageError
from gdbext.render.numbers import amount, percent, place

if TYPE_CHECKING:
    from pathlib import Path

    from gdbext.analyses.graph import CallGraph, GraphNode
    from gdbext.analyses.tree import CallNode, CallTree

__all__ = ["graph_dot", "tree_dot", "write_picture"]

_SOURCES: Final = (".dot", ".gv")
_PICTURES: Final = (".svg", ".png", ".pdf")

_NAME_LENGTH_MAX: Final = 40
_PEN_MAX: Final = 4.0

# From no cost to all of it: white over yellow to red, as a heat map.
_HEAT: Final = ((0.0, (255, 255, 255)), (0.05, (255, 243, 196)), (0.2, (255, 201, 102)))
_HEAT_ALL: Final = (1.0, (226, 74, 51))
_BORDERS: Final = {
    "interrupt": "#1f4e9e",
    "exception": "#7b2d8b",
    "trap": "#4d2d94",
    "task": "#2d6a3f",
}


def graph_dot(graph: CallGraph) -> str:
    """The call graph in the DOT language."""
    out = _digraph("calls", _graph_title(graph), rankdir="TB")
    whole = graph.instructions
    inclusive = {node.id: node.inclusive_insns for node in graph.nodes}
    for node in graph.nodes:
        _put_node(out, f"f{node.id}", node, node.root, whole, calls=node.calls)
    for arc in graph.arcs:
        weight = min(inclusive[arc.caller], inclusive[arc.callee])
        _put_arrow(out, f"f{arc.caller}", f"f{arc.callee}", arc.kind, arc.count, weight, whole)
    return str(out.source)


def tree_dot(tree: CallTree) -> str:
    """The calling-context tree in the DOT language; it grows to the right."""
    out = _digraph("tree", _tree_title(tree), rankdir="LR")
    todo: list[tuple[CallNode, str | None]] = [(root, None) for root in reversed(tree.roots)]
    n = 0
    while todo:
        node, parent = todo.pop()
        n += 1
        name = f"n{n}"
        root = node.kind if node.kind in _BORDERS else None
        _put_node(out, name, node, root, tree.instructions, calls=node.calls)
        if parent is not None:
            cost = node.inclusive_insns
            _put_arrow(out, parent, name, node.kind, node.calls, cost, tree.instructions)
        if node.hidden:
            text = f"{amount(node.hidden)} more\n{percent(node.hidden_insns, tree.instructions)}"
            out.node(
                f"{name}more", _escaped(text), shape="plaintext", style="", fontcolor="#666666"
            )
            out.edge(name, f"{name}more", arrowhead="none", color="#bbbbbb")
        todo += [(child, name) for child in reversed(node.children)]
    return str(out.source)


def write_picture(source: str, path: Path) -> None:
    """Write DOT source to `path`, drawn if its name ends in .svg, .png or .pdf.

    Raises:
        UsageError: the name has another end, or the file cannot be written.
        TargetError: the program `dot` is missing or fails.
    """
    suffix = path.suffix.lower()
    if suffix in _SOURCES:
        data = source.encode()
    elif suffix in _PICTURES:
        data = _drawn(source, suffix.removeprefix("."))
    else:
        raise UsageError(f"{path}: give a name that ends in {', '.join(_PICTURES + _SOURCES)}")
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error


def _drawn(source: str, kind: str) -> bytes:
    try:
        drawn: bytes = graphviz.Source(source).pipe(format=kind)
    except graphviz.ExecutableNotFound as error:
        raise TargetError(
            f"the program `dot` is missing, which draws .{kind}: install Debian's package "
            "graphviz, or write a .dot file"
        ) from error
    except graphviz.CalledProcessError as error:
        said = (error.stderr or b"").decode(errors="replace").strip().splitlines()
        raise TargetError(f"`dot` failed: {said[0] if said else error}") from error
    return drawn


def _digraph(name: str, title: str, rankdir: str) -> Any:
    font = {"fontname": "Helvetica,Arial,sans-serif"}
    return graphviz.Digraph(
        name,
        graph_attr={
            **font,
            "label": _escaped(title),
            "labelloc": "t",
            "labeljust": "l",
            "fontsize": "14",
            "rankdir": rankdir,
            "ordering": "out" if name == "tree" else "",
            "nodesep": "0.2",
            "ranksep": "0.4" if rankdir == "TB" else "0.5",
        },
        node_attr={
            **font,
            "shape": "box",
            "style": "filled,rounded",
            "fontsize": "11",
            "margin": "0.1,0.05",
            "height": "0.3",
            "color": "#666666",
        },
        edge_attr={**font, "fontsize": "9", "color": "#555555", "arrowsize": "0.7"},
    )


def _put_node(
    out: Any, name: str, node: GraphNode | CallNode, root: str | None, whole: int, *, calls: int
) -> None:
    lines = [_shortened(node.name)]
    if root in ("interrupt", "exception", "trap"):
        lines.insert(0, f"«{root}»")
    elif root == "task":
        lines.insert(0, "«begins here»")
    costs = percent(node.inclusive_insns, whole)
    if node.self_insns != node.inclusive_insns:
        costs += f" (self {percent(node.self_insns, whole)})"
    lines += [costs, f"{amount(calls)} ×" if calls else "entered before the recording"]
    attributes = {"fillcolor": _heat(node.self_insns / whole if whole else 0.0)}
    if root is not None:
        attributes |= {"color": _BORDERS[root], "penwidth": "2.5"}
    tooltip = f"{node.name} {place(node.file, None)}: {amount(node.self_insns)} instructions itself"
    out.node(name, _escaped("\n".join(lines)), tooltip=_escaped(tooltip), **attributes)


def _put_arrow(
    out: Any, caller: str, callee: str, kind: str, count: int, cost: int, whole: int
) -> None:
    width = 0.8 + (_PEN_MAX - 0.8) * (cost / whole if whole else 0.0)
    style = {"style": "dashed"} if kind == "tail" else {}
    out.edge(caller, callee, label=f" {amount(count)}", penwidth=f"{width:.2f}", **style)


def _heat(share: float) -> str:
    """The colour of a self cost, 0 to 1."""
    stops = (*_HEAT, _HEAT_ALL)
    low, high = next(
        (pair for pair in itertools.pairwise(stops) if share <= pair[1][0]), stops[-2:]
    )
    part = min(max((share - low[0]) / (high[0] - low[0]), 0.0), 1.0)
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(low[1], high[1], strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _graph_title(graph: CallGraph) -> str:
    shown = f"{amount(len(graph.nodes))} functions"
    if graph.hidden:
        shown = f"{amount(len(graph.nodes))} of {amount(len(graph.nodes) + graph.hidden)} functions"
    return f"{amount(graph.instructions)} instructions, {shown}; shares are inclusive\n"


def _tree_title(tree: CallTree) -> str:
    of = f" below {tree.function.name}" if tree.function is not None else ""
    more = f"; {amount(tree.more)} more roots and calls" if tree.more else ""
    return f"{amount(tree.instructions)} instructions, calls{of} to depth {tree.max_depth}{more}\n"


def _shortened(name: str) -> str:
    if len(name) <= _NAME_LENGTH_MAX:
        return name
    tail = (_NAME_LENGTH_MAX - 2) // 2
    return name[: _NAME_LENGTH_MAX - 2 - tail] + ".." + name[len(name) - tail :]


def _escaped(text: str) -> str:
    """Text as a DOT string; backslashes in it are no escapes."""
    escaped: str = graphviz.escape(text.replace("\n", "\0"))
    return escaped.replace("\0", "\\n")
