# SPDX-License-Identifier: GPL-2.0-or-later
"""A scheduler with preemption and three tasks, compared with its own books.

It counts a switch when the task has executed something: where an interrupt comes before its first
instruction, nothing of it is in the recording.
"""

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


@pytest.mark.parametrize("variant", ["O0", "O2"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_tasks_with_code_of_their_own_are_exact(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("tasks", board_name, variant, find_qemu, tmp_path)

    assert_exact(books, found)
    assert_handlers(board_name, books, found)
    assert_calls_are_understood(found)


@pytest.mark.parametrize("variant", ["O0-shared", "O2-shared"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_stack_pointers_tell_tasks_that_wait_at_one_place(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("tasks", board_name, variant, find_qemu, tmp_path)
    assert_exact(books, found)
    assert_handlers(board_name, books, found)
    assert_calls_are_understood(found)


@pytest.mark.parametrize("variant", ["O0-shared", "O2-shared"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_tasks_that_wait_at_one_place_keep_their_calls_and_are_counted_as_ambiguous(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("tasks", board_name, variant, find_qemu, tmp_path, probes=False)

    # Which of them goes on is only known when it returns (rule S5); nothing is lost by it.
    assert_books_of_calls(books, found)
    assert_sums(found)
    assert len(found.tables.tasks) == 1 + len(TASKS)
    assert found.stats.context_starts == len(TASKS)
    switches = {name: found.task(name).switches_in for name in TASKS}
    wrong = sum(abs(switches[name] - books.switches[name]) for name in TASKS)
    assert wrong
    assert wrong <= 2 * found.stats.ambiguous
    assert found.stats.late_switches
    assert_handlers(board_name, books, found)
    assert_calls_are_understood(found)


def assert_exact(books: Books, found: Found) -> None:
    """Calls, and switches to each task, are the books'; nothing was guessed."""
    assert_books_of_calls(books, found)
    assert_sums(found)
    assert {name: found.task(name).switches_in for name in TASKS} == books.switches
    assert found.stats.task_switches + found.stats.context_starts == sum(books.switches.values())
    assert len(found.tables.tasks) == 1 + len(TASKS)
    assert found.stats.context_starts == len(TASKS)
    assert found.stats.ambiguous == found.stats.late_switches == 0


def assert_handlers(board_name: str, books: Books, found: Found) -> None:
    """Runs of each handler."""
    interrupts, svcs = books.counters["interrupts"], books.counters["svcs"]
    scheduler_runs = books.counters["scheduler_runs"]
    handlers = {
        "mps2-an385": {"SysTick_Handler": interrupts, "PendSV_Handler": scheduler_runs},
        "virt-rv32": {"tasks_trap": interrupts + svcs},
        "virt-aarch64": {"vector_interrupt": interrupts, "vector_synchronous": svcs},
    }[board_name]
    assert {name: found.handler(name).runs for name in handlers} == handlers
    assert len(found.tables.handlers) == len(handlers)
    assert found.stats.traps == found.stats.trap_returns == sum(handlers.values())


def assert_calls_are_understood(found: Found) -> None:
    """Nothing but the choice between tasks was in doubt."""
    stats = found.stats
    assert stats.unmatched_returns == stats.above_start == stats.abandoned == 0
    assert stats.unexplained == stats.unwinds == stats.middle_entries == 0
