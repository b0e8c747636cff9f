# SPDX-License-Identifier: GPL-2.0-or-later
"""The call graph, callees, and pictures of graph and tree."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gdbext.analyses.callees import report_callees
from gdbext.analyses.graph import CallGraph, report_graph
from gdbext.analyses.tree import Pruning, report_tree
from gdbext.errors import TargetError, UsageError
from gdbext.exporters.dot import graph_dot, tree_dot, write_picture
from tests.support.call_tables import made_program

PROGRAM = made_program(
    """
    task main 1 10
      call even 5 20
        tail odd 4 10
      call leaf 2 30
    exception fault 3 30
      call leaf 3 30
    """,
    costs={
        "main": (1, 10, 70),
        "even": (8, 20, 30),
        "odd": (4, 10, 10),
        "leaf": (5, 60, 60),
        "fault": (3, 30, 60),
    },
    calls={
        ("main", "even"): (5, 0),
        ("even", "odd"): (0, 4),
        ("odd", "even"): (0, 3),
        ("main", "leaf"): (2, 0),
        ("fault", "leaf"): (3, 0),
    },
)
FUNCTIONS = {f.name: f for f in PROGRAM.numbers.functions if f is not None}


def names(graph: CallGraph) -> list[str]:
    return [node.name for node in graph.nodes]


def arcs(graph: CallGraph) -> set[tuple[str, str, str, int]]:
    by_id = {node.id: node.name for node in graph.nodes}
    return {(by_id[arc.caller], by_id[arc.callee], arc.kind, arc.count) for arc in graph.arcs}


def test_nodes_by_inclusive_cost_and_arcs_by_kind() -> None:
    graph = report_graph(PROGRAM, None, Pruning())

    assert names(graph) == ["main", "leaf", "fault", "even", "odd"]
    assert {node.name: node.root for node in graph.nodes if node.root} == {
        "main": "task",
        "fault": "exception",
    }
    assert arcs(graph) == {
        ("main", "even", "call", 5),
        ("even", "odd", "tail", 4),
        ("odd", "even", "tail", 3),
        ("main", "leaf", "call", 2),
        ("fault", "leaf", "call", 3),
    }


@pytest.mark.parametrize(
    ("root", "pruning", "shown"),
    [
        ("even", Pruning(), "even odd"),
        ("fault", Pruning(), "leaf fault"),
        (None, Pruning(depth=1), "main fault"),
        ("main", Pruning(depth=2), "main leaf even"),
        (None, Pruning(min_percent=40), "main leaf fault"),
        (None, Pruning(top=2), "main leaf"),
    ],
)
def test_pruned_graph(root: str | None, pruning: Pruning, shown: str) -> None:
    graph = report_graph(PROGRAM, FUNCTIONS[root] if root else None, pruning)

    assert names(graph) == shown.split()
    assert graph.hidden == 5 - len(graph.nodes)


def test_callees_have_sites_and_the_cost_of_their_arc() -> None:
    report = report_callees(PROGRAM, FUNCTIONS["main"])

    assert [(c.function.name, c.calls, c.inclusive_insns) for c in report.callees] == [
        ("even", 5, 30),
        ("leaf", 2, 30),
    ]
    assert [site.count for site in report.callees[0].sites] == [5]
    # A tail call back round the circle has no node of its own: its cost is not known.
    back = report_callees(PROGRAM, FUNCTIONS["odd"])
    assert [(c.function.name, c.calls, c.inclusive_insns) for c in back.callees] == [
        ("even", 3, None)
    ]


def test_graph_in_dot_has_counts_dashes_and_roots() -> None:
    source = graph_dot(report_graph(PROGRAM, None, Pruning()))

    assert source.count("dashed") == 2
    assert "«exception»\\nfault" in source
    assert re.search(r'label=" 5"', source)
    assert "8 ×" in source


def test_name_with_backslash_and_quotes_is_no_dot_code() -> None:
    program = made_program('task a\\N"b 1 5', costs={'a\\N"b': (1, 5, 5)})

    source = graph_dot(report_graph(program, None, Pruning()))

    assert 'a\\\\N\\"b' in source


def test_tree_in_dot_counts_what_was_left_out() -> None:
    source = tree_dot(report_tree(PROGRAM, None, Pruning(top=2)))

    assert "1 more" in source
    assert source.count("penwidth=2.5") == 2, "two roots"


def test_pictures_are_drawn(tmp_path: Path) -> None:
    if shutil.which("dot") is None:
        pytest.skip("dot (Graphviz) is not installed")
    source = graph_dot(report_graph(PROGRAM, None, Pruning()))

    write_picture(source, tmp_path / "g.svg")
    write_picture(source, tmp_path / "g.dot")

    assert (tmp_path / "g.svg").read_text().count('class="node"') == 5
    canonical = subprocess.run(
        ["dot", "-Tplain", str(tmp_path / "g.dot")], capture_output=True, text=True, check=True
    )
    assert sum(line.startswith("edge ") for line in canonical.stdout.splitlines()) == 5


def test_missing_dot_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(TargetError, match=r"`dot` is missing.*install Debian's package graphviz"):
        write_picture("digraph {}", tmp_path / "g.svg")

    write_picture("digraph {}", tmp_path / "g.dot")
    assert (tmp_path / "g.dot").read_text() == "digraph {}"
    assert not (tmp_path / "g.svg").exists()


def test_other_ends_and_places_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"give a name that ends in \.svg"):
        write_picture("digraph {}", tmp_path / "g.jpeg2000")
    with pytest.raises(UsageError, match="No such file or directory"):
        write_picture("digraph {}", tmp_path / "none" / "g.dot")
