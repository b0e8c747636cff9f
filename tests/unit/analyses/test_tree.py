# SPDX-License-Identifier: GPL-2.0-or-later
"""The calling-context tree: merging, pruning, the deepest path; and the profile of it."""

from __future__ import annotations

import json

import pytest

from gdbext.analyses.profile import report_profile
from gdbext.analyses.tree import CallNode, CallTree, Pruning, report_tree
from gdbext.errors import UsageError
from gdbext.render.page import Page
from gdbext.render.tree import render_tree
from tests.support.call_tables import address_of, made_program

DRAWING = """
    task main 1 10
      call work 4 40
        call leaf 8 80
        tail last 2 6
      call again 1 5
        call again 2 4
          call leaf 2 20
    interrupt tick 3 9
      call leaf 3 30
"""
PROGRAM = made_program(DRAWING)
LEAF = 3


def shape(node: CallNode) -> tuple[object, ...]:
    """Name, kind, calls, self, inclusive, children."""
    return (
        *(node.name, node.kind, node.calls, node.self_insns, node.inclusive_insns),
        [shape(child) for child in node.children],
    )


def tree(name: str | None = None, pruning: Pruning | None = None) -> CallTree:
    functions = PROGRAM.numbers.functions
    function = next((f for f in functions if f is not None and f.name == name), None)
    return report_tree(PROGRAM, function, pruning or Pruning())


def test_handlers_stand_beside_tasks_and_costly_children_come_first() -> None:
    assert [shape(root) for root in tree().roots] == [
        (
            *("main", "task", 1, 10, 165),
            [
                (
                    *("work", "call", 4, 40, 126),
                    [("leaf", "call", 8, 80, 80, []), ("last", "tail", 2, 6, 6, [])],
                ),
                (
                    *("again", "call", 1, 5, 29),
                    [("again", "call", 2, 4, 24, [("leaf", "call", 2, 20, 20, [])])],
                ),
            ],
        ),
        ("tick", "interrupt", 3, 9, 39, [("leaf", "call", 3, 30, 30, [])]),
    ]


def test_deepest_path_is_that_of_the_whole_tree() -> None:
    pruned = tree(pruning=Pruning(depth=1))

    assert pruned.max_depth == 4
    assert [name.name for name in pruned.deepest] == ["main", "again", "again", "leaf"]


def test_activations_of_one_function_are_merged_and_recursion_stays_below() -> None:
    assert [shape(root) for root in tree("leaf").roots] == [("leaf", "call", 13, 130, 130, [])]
    assert [shape(root) for root in tree("again").roots] == [
        (
            *("again", "call", 1, 5, 29),
            [("again", "call", 2, 4, 24, [("leaf", "call", 2, 20, 20, [])])],
        )
    ]


def test_function_that_never_ran_is_said() -> None:
    program = made_program("task main 1 10")
    program.numbers.functions[:] = PROGRAM.numbers.functions

    with pytest.raises(UsageError, match=r"^leaf never ran in this recording$"):
        report_tree(program, PROGRAM.numbers.functions[LEAF], Pruning())


@pytest.mark.parametrize(
    ("pruning", "names", "hidden"),
    [
        (Pruning(depth=2), "main work again tick leaf", [0, 2, 2, 0, 0]),
        (Pruning(min_percent=20), "main work leaf", [3, 1, 0]),
        (Pruning(top=3), "main work leaf tick", [3, 1, 0, 1]),
        (Pruning(depth=1, top=1), "main tick", [6, 1]),
    ],
)
def test_pruned_nodes_are_counted_where_they_were(
    pruning: Pruning, names: str, hidden: list[int]
) -> None:
    pruned = tree(pruning=pruning)
    shown: list[CallNode] = []
    todo = list(reversed(pruned.roots))
    while todo:
        node = todo.pop()
        shown.append(node)
        todo += reversed(node.children)

    assert [node.name for node in shown] == names.split()
    assert [node.hidden for node in shown] == hidden
    assert sum(pruned.sizes()) == 9
    for node in shown:
        below = sum(child.inclusive_insns for child in node.children)
        assert node.self_insns + below + node.hidden_insns == node.inclusive_insns


def test_thousand_levels_are_cut_to_what_json_readers_take() -> None:
    drawing = "\n".join(f"{'  ' * n}{'call' if n else 'task'} f 1 1" for n in range(1000))
    deep = report_tree(made_program(drawing), None, Pruning())

    text = json.dumps(deep.to_json(), indent=2)

    assert deep.max_depth == 1000
    assert deep.sizes() == (200, 800)
    assert text.count('"children"') == 200


def test_tree_as_text() -> None:
    pieces: list[str] = []
    render_tree(Page(pieces.append), tree(pruning=Pruning(top=5)))

    assert "".join(pieces).splitlines() == [
        "  inclusive  share  self  calls  function",
        "        165  80.9%    10      1  main (task)  … 3 more below: 29",
        "        126  61.8%    40      4  └─ work  … 1 more below: 6",
        "         80  39.2%    80      8     └─ leaf",
        "         39  19.1%     9      3  tick (interrupt)",
        "         30  14.7%    30      3  └─ leaf",
        "Deepest: 4, main > again ×2 > leaf",
    ]


def test_profile_in_all_and_by_context() -> None:
    costs = {"main": (1, 10, 165), "leaf": (13, 130, 130), "again": (3, 9, 29)}

    profile = report_profile(made_program(DRAWING, costs=costs, repairs={"unwinds": 2}))

    rows = [(row.name, row.calls, row.self_insns, row.inclusive_insns) for row in profile.functions]
    assert rows == [("leaf", 13, 130, 130), ("main", 1, 10, 165), ("again", 3, 9, 29)]
    assert [(c.name, c.kind, c.insns) for c in profile.contexts] == [
        ("main", "task", 165),
        ("tick", "interrupt", 39),
    ]
    in_main = {row.name: row for row in profile.contexts[0].functions}
    assert (in_main["leaf"].calls, in_main["leaf"].self_insns) == (10, 100)
    assert in_main["again"].inclusive_insns == 29, "what it calls itself counts once"
    assert profile.repairs["unwinds"] == 2
    assert list(profile.to_json()["functions"][0]) == [
        *("name", "address", "file", "calls", "self_insns", "inclusive_insns", "inlined")
    ]
    assert profile.functions[0].address == address_of(LEAF)
