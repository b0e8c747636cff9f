# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of the programs that keep books, and what must hold for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from gdbext.replay.calls import HANDLER_KINDS, NodeKind
from gdbext.replay.kinds import EndKind
from gdbext.target.boards import load_board
from gdbext.target.qemu_binary import QemuBinary
from tests.support.books import Books, Found, read_books
from tests.support.firmware import firmware_path
from tests.support.qemu_runs import icount, record

__all__ = [
    "BOARDS",
    "FindQemu",
    "arcs_by_site",
    "arcs_in_tree",
    "assert_books_of_calls",
    "assert_sums",
    "run",
]

FindQemu = Callable[[str], QemuBinary]

CALLS = frozenset({EndKind.CALL, EndKind.CALL_INDIRECT})

BOARDS = ["mps2-an385", "virt-rv32", "virt-aarch64"]


def run(
    program: str,
    board_name: str,
    variant: str,
    find_qemu: FindQemu,
    directory: Path,
    *,
    probes: bool = True,
) -> tuple[Books, Found]:
    """Record a program of tests/firmware/engine; its books, and what the engine found.

    Args:
        probes: False: without reading registers, as QEMU up to 8.2 does it anyway.
    """
    board = load_board(board_name)
    elf = firmware_path(program, board_name, variant)
    qemu = find_qemu(board.qemu)
    done = record(board, elf, qemu, directory / variant, icount(board), probes=probes)
    return read_books(done.text()), Found(done.directory, elf)


def assert_books_of_calls(books: Books, found: Found) -> None:
    """Calls of each function, and of each path, are the books'."""
    calls = found.calls()
    assert {name: calls.get(name, 0) for name in books.calls} == books.calls
    assert found.paths(books.functions_with_paths) == books.paths


def assert_sums(found: Found) -> None:
    """What must hold for every recording; see the parts."""
    assert_instructions_add_up(found)
    assert_handlers_are_apart(found)
    assert_calls_add_up(found)
    assert_calls_end_at_entries(found)


def assert_instructions_add_up(found: Found) -> None:
    """Every instruction is somewhere, once: in the tree, by address, in a task or handler."""
    total = found.program.tables.instructions
    assert sum(node.self_insns for node in found.nodes) == total
    assert sum(cost.self_insns for cost in found.tables.costs) == total
    assert found.nodes[0].inclusive_insns == total
    by_address = Counter[str]()  # several functions may have one name
    for address, n in found.program.self_insns.items():
        by_address[found.program.symbols.function_at(address).name] += n  # type: ignore[union-attr]
    in_tree = {name: n for name, n in found.self_by_function().items() if n and name != "?"}
    assert in_tree == by_address
    of_handlers = sum(row.self_insns for row in found.tables.handlers)
    of_tasks = sum(row.self_insns for row in found.tables.tasks)
    assert of_handlers + of_tasks == total
    roots = [node for node in found.nodes[1:] if node.parent == 0]
    assert sum(node.inclusive_insns for node in roots) == total
    assert of_handlers == sum(node.inclusive_insns for node in roots if node.kind in HANDLER_KINDS)
    inclusive = [node.self_insns for node in found.nodes]
    for number in range(len(found.nodes) - 1, 0, -1):  # parents come first
        assert found.nodes[number].parent < number
        inclusive[found.nodes[number].parent] += inclusive[number]
    assert inclusive == [node.inclusive_insns for node in found.nodes]


def assert_handlers_are_apart(found: Found) -> None:
    """A handler is nowhere inside what it interrupted, and each entry of one is a trap's."""
    for node in found.nodes[1:]:
        if node.kind in HANDLER_KINDS:
            assert node.parent == 0, found.name(node.function)
        else:
            assert (node.kind == NodeKind.TASK) == (node.parent == 0), found.name(node.function)
    entered = sum(node.calls for node in found.nodes if node.kind in HANDLER_KINDS)
    assert found.stats.traps == sum(row.runs for row in found.tables.handlers)
    # A recording may begin in a handler.
    assert 0 <= entered - found.stats.traps <= found.stats.starts


def assert_calls_add_up(found: Found) -> None:
    """A function's calls are those of its nodes, and the arrivals there that call sites count.

    Only calls into the middle of a function are counted at no call site.
    """
    by_nodes = Counter[int]()
    for node in found.nodes[1:]:
        by_nodes[node.function] += node.calls
    assert [by_nodes[n] for n in range(len(found.tables.costs))] == [
        cost.calls for cost in found.tables.costs
    ]
    into_middle = into_callees(arcs_in_tree(found)) - into_callees(arcs_by_site(found))
    assert not into_callees(arcs_by_site(found)) - into_callees(arcs_in_tree(found))
    assert into_middle.total() <= found.stats.middle_entries, into_middle


def into_callees(arcs: Counter[tuple[str, str]]) -> Counter[str]:
    """Calls by callee, of functions that have a name."""
    calls: Counter[str] = Counter()
    for (_, callee), n in arcs.items():
        calls[callee] += n
    del calls["?"]
    return calls


def assert_calls_end_at_entries(found: Found) -> None:
    """A call ends at a function's first instruction, or is counted as one into the middle."""
    program = found.program
    into_middle = 0
    for edge in program.tables.edges:
        address = program.blocks.address[edge.to]
        ended = program.blocks.address[edge.from_] + program.blocks.n_bytes[edge.from_]
        callee = program.symbols.function_at(address)
        if program.classes.end_kind[edge.from_] in CALLS and address != ended and callee:
            into_middle += edge.total if callee.address != address else 0
    assert into_middle <= found.stats.middle_entries


def arcs_by_site(found: Found) -> Counter[tuple[str, str]]:
    """Calls and tail calls by (caller, callee), from the counts of call sites."""
    symbols = found.program.symbols
    arcs: Counter[tuple[str, str]] = Counter()
    for address, arrivals in found.program.entries.arrivals.items():
        callee = symbols.function_at(address)
        assert callee is not None
        for site, n in arrivals.sites.items():
            caller = symbols.function_at(site)
            arcs[caller.name if caller is not None else "?", callee.name] += n
    return arcs


def arcs_in_tree(found: Found) -> Counter[tuple[str, str]]:
    """Calls and tail calls by (caller, callee), from the tree's nodes."""
    arcs: Counter[tuple[str, str]] = Counter()
    for node in found.nodes[1:]:
        if node.kind in (NodeKind.CALL, NodeKind.TAIL):
            caller = found.nodes[node.parent].function
            arcs[found.name(caller), found.name(node.function)] += node.calls
    return arcs
