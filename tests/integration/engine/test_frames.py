# SPDX-License-Identifier: GPL-2.0-or-later
"""A scheduler's loop that goes to tasks by returns and by trap returns, compared with its books."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.engine.runs import (
    FindQemu,
    assert_books_of_calls,
    assert_sums,
    run,
)
from tests.support.books import Books, Found

BOARDS = ["mps2-an385", "virt-rv32"]
TASKS = ("task_a", "task_b", "task_c")


@pytest.mark.parametrize("variant", ["O0-own", "O2-own"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_tasks_that_wait_in_code_of_their_own_are_exact(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("frames", board_name, variant, find_qemu, tmp_path)

    assert_books(board_name, books, found)
    assert {name: found.task(name).switches_in for name in TASKS} == books.switches
    assert found.stats.ambiguous == found.stats.late_switches == 0


@pytest.mark.parametrize("variant", ["O0-shared", "O2-shared"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_stack_pointers_tell_tasks_that_wait_in_one_function(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("frames", board_name, variant, find_qemu, tmp_path)
    if not found.has_probes:
        pytest.skip("this QEMU reads no registers for plugins")

    assert_books(board_name, books, found)
    assert {name: found.task(name).switches_in for name in TASKS} == books.switches
    assert found.stats.ambiguous == found.stats.late_switches == 0


@pytest.mark.parametrize("variant", ["O0-shared", "O2-shared"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_without_stack_pointers_calls_are_kept_and_doubts_counted(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("frames", board_name, variant, find_qemu, tmp_path, probes=False)

    assert_books(board_name, books, found)
    switches = {name: found.task(name).switches_in for name in TASKS}
    wrong = sum(abs(switches[name] - books.switches[name]) for name in TASKS)
    assert found.stats.ambiguous
    assert wrong <= 2 * found.stats.ambiguous


def assert_books(board_name: str, books: Books, found: Found) -> None:
    """Calls and paths are the books'; nothing but the choice between tasks was in doubt."""
    assert_books_of_calls(books, found)
    assert_sums(found)
    counters = books.counters
    assert counters["preemptions"] > 50
    assert counters["idle_ticks"] > 10
    assert counters["dispatches"] > counters["preemptions"] + 50
    loop_is_a_task = board_name == "mps2-an385"
    assert len(found.tables.tasks) == 1 + len(TASKS) + loop_is_a_task
    assert found.stats.context_starts == len(TASKS) + loop_is_a_task
    ticks = {"mps2-an385": "SysTick_Handler", "virt-rv32": "frames_trap"}[board_name]
    assert found.handler(ticks).runs == counters["interrupts"]
    stats = found.stats
    assert stats.max_nesting == 1  # the loop waits in handlers, too, but they are over
    assert stats.traps == stats.trap_returns
    assert stats.unmatched_returns == stats.above_start == stats.abandoned == 0
    assert stats.unexplained == stats.unwinds == stats.middle_entries == 0
