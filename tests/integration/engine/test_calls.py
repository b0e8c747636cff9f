# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of every kind under a fast timer, compared with the books that the program keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gdbext.replay.calls import NodeKind
from gdbext.target.boards import load_board
from gdbext.target.qemu_binary import QemuBinary
from tests.support.books import Books, Found, read_books
from tests.support.firmware import firmware_path
from tests.support.qemu_runs import icount, record

FindQemu = Callable[[str], QemuBinary]

BOARDS = ["mps2-an385", "virt-rv32", "virt-aarch64"]

MIDDLE_ENTRIES_PER_ROUND = 3  # mid_inside, and the epilogue that shared_one and shared_two jump to


def run(
    program: str, board_name: str, variant: str, find_qemu: FindQemu, directory: Path
) -> tuple[Books, Found]:
    """Record a program of tests/firmware/engine; its books, and what the engine found."""
    board = load_board(board_name)
    elf = firmware_path(program, board_name, variant)
    done = record(board, elf, find_qemu(board.qemu), directory / variant, icount(board))
    return read_books(done.text()), Found(done.directory, elf)


@pytest.mark.parametrize("variant", ["O0", "O2", "O0-quiet", "O2-quiet"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_calls_and_paths_equal_the_books(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("calls", board_name, variant, find_qemu, tmp_path)

    rounds = books.counters["iterations"]
    interrupts = books.counters["interrupts"]
    calls = found.calls()
    assert {name: calls.get(name, 0) for name in books.calls} == books.calls
    assert found.paths(books.functions_with_paths) == books.paths
    assert books.calls["mid_function"] == 2 * rounds
    assert (interrupts == 0) == variant.endswith("quiet")
    assert found.stats.traps == found.stats.trap_returns == interrupts
    assert found.stats.max_nesting == min(interrupts, 1)
    assert found.stats.middle_entries == MIDDLE_ENTRIES_PER_ROUND * rounds
    # Each catcher is come back to once, out of `jump_long` and every open `thrower`.
    assert found.stats.unwinds == books.calls["thrower"] + books.calls["catcher"]
    assert_nothing_was_guessed(found)


@pytest.mark.parametrize("variant", ["O0", "O2"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_self_counts_add_up_in_the_tree_and_by_address(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    _, found = run("calls", board_name, variant, find_qemu, tmp_path)

    total = found.program.tables.instructions
    assert sum(node.self_insns for node in found.nodes) == total
    assert sum(cost.self_insns for cost in found.tables.costs) == total
    assert found.nodes[0].inclusive_insns == total
    assert found.nodes[0].self_insns == 0
    by_address = {
        found.program.symbols.function_at(address).name: n  # type: ignore[union-attr]
        for address, n in found.program.self_insns.items()
    }
    in_tree = {name: n for name, n in found.self_by_function().items() if n and name != "?"}
    assert in_tree == by_address
    of_handlers = sum(row.self_insns for row in found.tables.handlers)
    of_tasks = sum(row.self_insns for row in found.tables.tasks)
    assert of_handlers + of_tasks == total
    roots = [node for node in found.nodes[1:] if node.parent == 0]
    assert sum(node.inclusive_insns for node in roots) == total
    assert of_handlers == sum(
        node.inclusive_insns
        for node in roots
        if node.kind in (NodeKind.INTERRUPT, NodeKind.EXCEPTION)
    )


@pytest.mark.parametrize("variant", ["O0", "O2"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_program_tree_does_not_depend_on_interrupts(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    busy_books, busy = run("calls", board_name, variant, find_qemu, tmp_path)
    _, quiet = run("calls", board_name, f"{variant}-quiet", find_qemu, tmp_path)

    assert busy_books.counters["interrupts"] > 1000
    tree = busy.program_tree("round")
    assert len(tree) > 50
    assert tree == quiet.program_tree("round")


def assert_nothing_was_guessed(found: Found) -> None:
    """None of the counters that stand for something not understood."""
    stats = found.stats
    assert stats.unmatched_returns == stats.above_start == stats.abandoned == 0
    assert stats.ambiguous == stats.late_switches == stats.unexplained == 0
    assert stats.task_switches == stats.context_starts == stats.resets == 0
    assert found.tables.cut_calls == 0
