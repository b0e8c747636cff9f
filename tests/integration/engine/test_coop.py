# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks that switch stacks themselves, without a trap, compared with their own books."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.engine.runs import (
    BOARDS,
    FindQemu,
    assert_books_of_calls,
    assert_sums,
    run,
)
from tests.support.books import Books, Found

TASKS = ("task_a", "task_b", "task_c")


@pytest.mark.parametrize("variant", ["O0-own", "O2-own", "O2-scheduler"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_switches_between_tasks_that_pause_in_code_of_their_own_are_exact(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("coop", board_name, variant, find_qemu, tmp_path)

    assert_books(books, found)
    assert {name: found.task(name).switches_in for name in TASKS} == books.switches
    switches = found.stats.task_switches + found.stats.context_starts
    assert switches == books.counters["all_switches"]
    assert found.stats.ambiguous == found.stats.late_switches == 0


@pytest.mark.parametrize("variant", ["O0-shared", "O2-shared"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_stack_pointers_tell_tasks_that_pause_in_the_same_function(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("coop", board_name, variant, find_qemu, tmp_path)
    if not found.has_probes:
        pytest.skip("this QEMU reads no registers for plugins")

    assert_books(books, found)
    assert {name: found.task(name).switches_in for name in TASKS} == books.switches
    assert found.stats.ambiguous == found.stats.late_switches == 0


@pytest.mark.parametrize("variant", ["O0-shared", "O2-shared"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_tasks_that_pause_in_the_same_function_keep_their_calls_and_count_as_ambiguous(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("coop", board_name, variant, find_qemu, tmp_path, probes=False)

    # Who goes on is told by the return after next (rule S5).
    assert_books(books, found)
    switches = {name: found.task(name).switches_in for name in TASKS}
    wrong = sum(abs(switches[name] - books.switches[name]) for name in TASKS)
    assert found.stats.ambiguous > books.counters["all_switches"] / 2
    assert found.stats.late_switches
    assert wrong <= 2 * found.stats.ambiguous


def assert_books(books: Books, found: Found) -> None:
    """Calls and paths are the books'; nothing but the choice between tasks was in doubt."""
    assert_books_of_calls(books, found)
    assert_sums(found)
    assert books.counters["interrupts"] > 100
    assert found.calls()["coop_switch"] == books.counters["all_switches"]
    assert len(found.tables.tasks) == 1 + len(TASKS)
    stats = found.stats
    assert stats.context_starts == len(TASKS)
    assert stats.traps == stats.trap_returns == books.counters["interrupts"]
    assert stats.unmatched_returns == stats.above_start == stats.abandoned == 0
    assert stats.unexplained == stats.unwinds == stats.middle_entries == 0
