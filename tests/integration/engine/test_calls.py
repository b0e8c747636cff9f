# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of every kind under a fast timer, compared with the books that the program keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdbext.replay.calls import HANDLER_KINDS
from tests.integration.engine.runs import (
    BOARDS,
    FindQemu,
    assert_books_of_calls,
    assert_sums,
    run,
)
from tests.support.books import Found

MIDDLE_ENTRIES_PER_ROUND = 3  # mid_inside, and the epilogue that shared_one and shared_two jump to


@pytest.mark.parametrize("variant", ["O0", "O2", "O0-quiet", "O2-quiet"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_calls_and_paths_equal_the_books(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("calls", board_name, variant, find_qemu, tmp_path)

    rounds = books.counters["iterations"]
    interrupts = books.counters["interrupts"]
    assert_books_of_calls(books, found)
    assert_sums(found)
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
def test_program_tree_does_not_depend_on_interrupts(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    busy_books, busy = run("calls", board_name, variant, find_qemu, tmp_path)
    _, quiet = run("calls", board_name, f"{variant}-quiet", find_qemu, tmp_path)

    assert busy_books.counters["interrupts"] > 1000
    tree = busy.program_tree("round")
    assert len(tree) > 50
    assert tree == quiet.program_tree("round")


@pytest.mark.parametrize("variant", ["O0-moved", "O2-moved"])
def test_handlers_of_a_moved_vector_table_are_found(
    variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("calls", "mps2-an385", variant, find_qemu, tmp_path)

    assert_books_of_calls(books, found)
    assert_sums(found)
    assert_nothing_was_guessed(found)
    # The flow alone does not always tell an interrupt from an exception: nodes of several kinds.
    handlers = [node for node in found.nodes if node.kind in HANDLER_KINDS]
    assert {found.name(node.function) for node in handlers} == {"moved_tick"}
    assert sum(node.calls for node in handlers) == books.counters["interrupts"]


def assert_nothing_was_guessed(found: Found) -> None:
    """None of the counters that stand for something not understood."""
    stats = found.stats
    assert stats.unmatched_returns == stats.above_start == stats.abandoned == 0
    assert stats.ambiguous == stats.late_switches == stats.unexplained == 0
    assert stats.task_switches == stats.context_starts == stats.resets == 0
    assert found.tables.cut_calls == 0
