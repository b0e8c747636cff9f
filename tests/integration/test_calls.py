# SPDX-License-Identifier: GPL-2.0-or-later
"""Profile, tree, callees, interrupts and tasks of real recordings, against the programs' own books
and against what must hold for every recording."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gdbext.target import qemu_binary
from gdbext.target.boards import load_board
from tests.integration.test_debug import debug
from tests.support.firmware import counters, firmware_path
from tests.support.gdb_session import gdb_batch
from tests.support.gdbext_cli import gdbext
from tests.support.qemu_runs import skip_if_mixed_up
from tests.truth import binutils

CORTEX_M = [("mps2-an385", "O0"), ("mps2-an385", "O2"), ("microbit", "O0"), ("mps2-an521", "O2")]
BASIC = [
    *(("basic", *each) for each in CORTEX_M),
    ("basic", "virt-rv32", "O0"),
    ("basic", "virt-rv32", "O2"),
    ("basic", "virt-rv64", "O2"),
    ("basic", "virt-aarch64", "O0"),
    ("basic", "virt-aarch64", "O2"),
    ("basic", "vexpress-a9", "O2"),
]
OTHERS = [
    ("basic", "q35-x86_64", "O2"),
    ("demo", "mps2-an385", ""),
    ("newlib", "mps2-an385", ""),
    ("midblock", "mps2-an385", ""),
    ("midblock", "virt-aarch64", ""),
    ("midblock", "virt-rv32", ""),
    ("wait", "mps2-an500", ""),
]


@dataclass(frozen=True)
class Recorded:
    """A recording, and what the program printed about itself."""

    path: Path
    elf: Path
    books: dict[str, int]

    def ask(self, *words: str) -> dict[str, Any]:
        """The JSON answer to a question."""
        verb, *rest = words
        done = gdbext(verb, self.path, *rest, "--json", runtime=self.path.parent)
        assert done.status == 0, done.err
        answer: dict[str, Any] = json.loads(done.out)
        assert answer["schema"] == f"gdbext/{verb}/1"
        return answer


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function of (program, board, variant) that gives the recording, made once."""
    made: dict[tuple[str, str, str], Recorded] = {}

    def record(program: str, board: str, variant: str) -> Recorded:
        key = (program, board, variant)
        if key not in made:
            elf = firmware_path(*key)
            runtime = tmp_path_factory.mktemp("calls")
            path = runtime / "t.rec"
            of_board = load_board(board)
            skip_if_mixed_up(of_board, qemu_binary.find(of_board.qemu))
            icount = ("--", "-icount", of_board.icount)
            done = gdbext("record", elf, "--board", board, "-o", path, *icount, runtime=runtime)
            assert done.status == 0, done.err
            made[key] = Recorded(path, elf, counters(done.out))
        return made[key]

    return record


def nodes_of(tree: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Every node with the one above it."""
    todo: list[tuple[dict[str, Any], dict[str, Any] | None]] = [(n, None) for n in tree["nodes"]]
    found = []
    while todo:
        node, above = todo.pop()
        found.append((node, above))
        todo += [(child, node) for child in node["children"]]
    return found


def by_name(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in rows}


@pytest.mark.parametrize(("program", "board", "variant"), BASIC)
def test_calls_are_those_the_program_counted(
    recorded: Any, program: str, board: str, variant: str
) -> None:
    run = recorded(program, board, variant)
    books = run.books

    functions = by_name(run.ask("profile")["functions"])
    fibonacci = run.ask("tree", "fibonacci")
    operations = [
        callee["calls"]
        for callee in run.ask("callees", "run_operations")["callees"]
        if callee["function"]["name"].startswith("operation_")
    ]

    if variant == "O0":  # otherwise the compiler puts some of the recursion into itself
        assert functions["fibonacci"]["calls"] == books["recursive"]
        assert sum(node["calls"] for node, _ in nodes_of(fibonacci)) == books["recursive"]
    assert functions["tail_even"]["calls"] + functions["tail_odd"]["calls"] == books["tail"]
    assert functions["round_trip"]["calls"] == books["iterations"]
    assert functions["gx_timer_tick"]["calls"] == books["interrupts"]
    assert sum(operations) == books["indirect"]
    assert books["interrupts"] > 0


@pytest.mark.parametrize(("board", "variant"), CORTEX_M)
def test_handlers_are_those_the_program_counted(recorded: Any, board: str, variant: str) -> None:
    run = recorded("basic", board, variant)

    report = run.ask("interrupts")

    counts = {handler["vectors"][0]: handler["count"] for handler in report["handlers"]}
    ticks = counts.pop("SysTick", 0) + sum(counts.pop(n) for n in list(counts) if "IRQ" in n)
    assert ticks == run.books["interrupts"]
    assert counts == {"SVCall": run.books["svcs"], "PendSV": run.books["pendsv"]}
    svc = next(h for h in report["handlers"] if h["vectors"] == ["SVCall"])
    assert svc["kinds"] == ["exception"]
    assert [(i["function"]["name"], i["count"]) for i in svc["interrupted"]] == [
        ("board_supervisor_call", run.books["svcs"])
    ]
    assert svc["min_insns"] <= svc["median_insns"] <= svc["max_insns"]


@pytest.mark.parametrize(("program", "board", "variant"), [*BASIC, *OTHERS])
def test_what_holds_for_every_recording(
    recorded: Any, program: str, board: str, variant: str
) -> None:
    run = recorded(program, board, variant)
    profile, tree = run.ask("profile"), run.ask("tree")
    handlers, tasks = run.ask("interrupts")["handlers"], run.ask("tasks")["tasks"]
    instructions = run.ask("analyze")["instructions"]
    nodes = nodes_of(tree)

    # Self counts add up to everything, by function, node, context, task and handler.
    assert sum(f["self_insns"] for f in profile["functions"]) == instructions
    assert sum(node["self_insns"] for node, _ in nodes) == instructions
    assert sum(context["insns"] for context in profile["contexts"]) == instructions
    assert sum(row["self_insns"] for row in [*handlers, *tasks]) == instructions
    # So do the roots' inclusive counts, and each node's.
    assert sum(root["inclusive_insns"] for root in tree["nodes"]) == instructions
    for node, _ in nodes:
        below = sum(child["inclusive_insns"] for child in node["children"])
        assert node["self_insns"] + below == node["inclusive_insns"]
    # No handler inside what it interrupted: handlers and tasks are at the top, and only there.
    in_handlers = 0
    for node, above in nodes:
        assert (node["kind"] in ("task", "interrupt", "exception", "trap")) == (above is None)
        if node["kind"] in ("interrupt", "exception", "trap"):
            in_handlers += node["inclusive_insns"]
    assert in_handlers == sum(handler["self_insns"] for handler in handlers)
    for handler in handlers:
        assert sum(each["count"] for each in handler["interrupted"]) == handler["count"]


@pytest.mark.parametrize(
    ("program", "board", "variant", "target"),
    [
        ("basic", "mps2-an385", "O2", "arm"),
        ("basic", "virt-rv32", "O0", "riscv32"),
        ("newlib", "mps2-an385", "", "arm"),
    ],
)
def test_every_call_ends_at_the_entry_of_a_function(
    recorded: Any, program: str, board: str, variant: str, target: str
) -> None:
    run = recorded(program, board, variant)
    entries = {function.address for function in binutils.functions(run.elf, target)}

    graph, tree = run.ask("graph"), run.ask("tree", "--no-inlined")

    assert tree["repairs"]["middle_entries"] == 0
    assert {node["address"] for node in graph["nodes"]} - {None} <= entries
    into = {node["id"]: 0 for node in graph["nodes"]}
    for arc in graph["arcs"]:
        into[arc["callee"]] += arc["count"]
    for node in graph["nodes"]:
        if node["root"] is None and into[node["id"]] != node["calls"]:
            # RISC-V's boot ROM goes to the program by what looks like a return.
            unattributed = run.ask("callers", node["name"])["unattributed"]
            assert into[node["id"]] + unattributed == node["calls"]
    # Arcs of the graph come from pairs of blocks, those of the tree from stacks.
    arcs: dict[tuple[int, int], int] = {}
    for node, above in nodes_of(tree):
        if above is not None:
            key = (above["address"], node["address"])
            arcs[key] = arcs.get(key, 0) + node["calls"]
    address = {node["id"]: node["address"] for node in graph["nodes"]}
    names = {node["address"]: node["name"] for node in graph["nodes"]}
    for arc in graph["arcs"]:
        pair = (address[arc["caller"]], address[arc["callee"]])
        if not names[pair[1]].startswith("tail_"):  # those come back to the same node
            counted = sum(
                a["count"]
                for a in graph["arcs"]
                if (address[a["caller"]], address[a["callee"]]) == pair
            )
            assert arcs[pair] == counted, names[pair[1]]


def test_interrupts_do_not_change_the_tree_of_the_program(recorded: Any) -> None:
    run = recorded("wait", "mps2-an500", "")
    alone = {
        path: calls
        for path, calls in paths(run.ask("tree"))
        if "fibonacci" in path[-1] or "operation" in path[-1]
    }
    quiet = recorded("basic", "mps2-an500", "O2")
    expected = {
        path: calls
        for path, calls in paths(quiet.ask("tree"))
        if "fibonacci" in path[-1] or "operation" in path[-1]
    }

    assert run.books["interrupts"] != quiet.books["interrupts"]
    assert alone == expected


def paths(tree: dict[str, Any]) -> list[tuple[tuple[str, ...], int]]:
    """Names from the root down, and calls, of every node."""
    todo: list[tuple[dict[str, Any], tuple[str, ...]]]
    todo = [(node, (node["name"],)) for node in tree["nodes"]]
    found = []
    while todo:
        node, path = todo.pop()
        found.append((path, node["calls"]))
        todo += [(child, (*path, child["name"])) for child in node["children"]]
    return found


def test_demo_allocates_and_frees_as_often(recorded: Any) -> None:
    run = recorded("demo", "mps2-an385", "")

    functions = by_name(run.ask("profile")["functions"])
    callees = run.ask("callees", "words_free")["callees"]
    callers = run.ask("callers", "malloc")

    assert functions["malloc"]["calls"] == functions["free"]["calls"] == 27_000
    assert [(c["function"]["name"], c["calls"]) for c in callees] == [("free", 20_000)]
    assert [site["count"] for site in callees[0]["sites"]] == [10_000, 10_000]
    costs = [caller["inclusive_insns"] for caller in callers["callers"]]
    assert sum(costs) == functions["malloc"]["inclusive_insns"]


def test_pictures_from_the_command_line(recorded: Any, tmp_path: Path) -> None:
    run = recorded("basic", "mps2-an385", "O0")
    if shutil.which("dot") is None:
        pytest.skip("dot (Graphviz) is not installed")

    tree = gdbext("tree", run.path, "-o", tmp_path / "t.svg", runtime=tmp_path)
    graph = gdbext("graph", run.path, "--root", "main", "-o", tmp_path / "g.svg", runtime=tmp_path)
    neither = gdbext("graph", run.path, runtime=tmp_path)

    assert (tree.status, graph.status) == (0, 0), tree.err + graph.err
    assert "fibonacci" in (tmp_path / "t.svg").read_text()
    picture = (tmp_path / "g.svg").read_text()
    assert "round_trip" in picture
    assert "SysTick_Handler" not in picture, "not reached from main"
    assert neither.status == 2
    assert neither.err.startswith("gdbext: graph: give the picture to write")


def test_same_answers_in_gdb(recorded: Any, tmp_path: Path) -> None:
    run = recorded("basic", "mps2-an385", "O0")

    done = gdb_batch(
        f"trace load {run.path}",
        "trace tree fibonacci --depth 2",
        "trace interrupts",
        "trace tasks",
        "trace callees tail_even",
        "trace profile --top 1",
        runtime=tmp_path,
        elf=run.elf,
    )

    assert done.err == ""
    assert "└─ fibonacci" in done.out
    assert "SVC_Handler (SVCall)" in done.out
    assert "(handlers)" in done.out
    assert "tail_odd" in done.out


def test_live_tree_grows_with_the_run(tmp_path: Path) -> None:
    elf = firmware_path("basic", "mps2-an385", "O0")

    done = debug(
        tmp_path,
        elf,
        "trace start",
        "break scan",
        "continue",
        "trace tree round_trip --depth 1",
        "continue",
        "trace tree round_trip --depth 1",
    )

    rows = [line.split() for line in done.out.splitlines() if " round_trip" in line]
    calls = [row[3] for row in rows if len(row) > 4 and row[4] == "round_trip"]
    assert calls == ["1", "2"], done.out + done.err
