# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers that interrupt handlers, supervisor calls and recovered faults, against the books."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gdbext.replay.calls import HANDLER_KINDS, NodeKind
from gdbext.target.boards import load_board
from tests.integration.engine.runs import (
    BOARDS,
    FindQemu,
    assert_books_of_calls,
    assert_sums,
    run,
)
from tests.support.books import Found
from tests.support.firmware import counters, firmware_path
from tests.support.qemu_runs import icount, record


@pytest.mark.parametrize("variant", ["O0", "O2"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_nested_handlers_are_counted_and_leave_the_calls_alone(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("traps", board_name, variant, find_qemu, tmp_path)

    assert_books_of_calls(books, found)
    assert_sums(found)
    assert_handlers(board_name, books.counters, found)
    assert_kinds(board_name, books.counters, found)
    assert books.counters["max_nesting"] > 1
    assert found.stats.max_nesting == books.counters["max_nesting"]
    assert_all_returned(found)


@pytest.mark.parametrize("board_name", [*BOARDS, "q35-x86_64"])
def test_blocks_left_in_the_middle(board_name: str, find_qemu: FindQemu, tmp_path: Path) -> None:
    board = load_board(board_name)
    elf = firmware_path("midblock", board_name)

    done = record(board, elf, find_qemu(board.qemu), tmp_path / "t", icount(board))

    found = Found(done.directory, elf)
    assert_sums(found)
    assert_handlers(board_name, counters(done.text()), found)
    assert_kinds(board_name, counters(done.text()), found)
    rounds = counters(done.text())["iterations"]
    calls = found.calls()
    assert calls["midblock_interrupt"] == calls["midblock_device_read"] == rounds
    assert calls["midblock_fault"] == calls["midblock_multiple"] == rounds
    assert_all_returned(found)


def assert_handlers(board_name: str, counted: dict[str, int], found: Found) -> None:
    """Runs of each handler that ran; on RISC-V one handler takes all."""
    if board_name == "mps2-an385":
        expected = {
            "SysTick_Handler": counted["interrupts"],
            "PendSV_Handler": counted["pendsv"],
            "SVC_Handler": counted["svcs"],
            "HardFault_Handler": counted["faults"],
            "TIMER0_IRQHandler": counted.get("high", 0),
        }
        expected = {name: n for name, n in expected.items() if n}
        assert {name: found.handler(name).runs for name in expected} == expected
    elif board_name == "q35-x86_64":  # an entry for each vector; often one follows another directly
        each = [counted["interrupts"], counted["pendsv"], counted["faults"]]
        assert sorted(row.runs for row in found.tables.handlers) == sorted(each)
        expected = dict(zip("ipf", each, strict=True))
    else:
        asynchronous = counted["interrupts"] + counted["pendsv"]
        synchronous = counted["svcs"] + counted["faults"]
        one = board_name == "virt-rv32"
        each = [asynchronous + synchronous] if one else [asynchronous, synchronous]
        assert sorted(row.runs for row in found.tables.handlers) == sorted(filter(None, each))
        expected = dict(enumerate(each))  # type: ignore[arg-type]
    assert found.stats.traps == sum(expected.values())


def assert_kinds(board_name: str, counted: dict[str, int], found: Found) -> None:
    """Interrupts and exceptions: all are known from a vector table's offsets, mcause or QEMU; else
    some are, and none is wrong."""
    asynchronous = counted["interrupts"] + counted["pendsv"] + counted.get("high", 0)
    synchronous = counted["svcs"] + counted["faults"]
    entered: Counter[NodeKind] = Counter()
    for node in found.nodes[1:]:
        if node.parent == 0 and node.kind in HANDLER_KINDS:
            entered[node.kind] += node.calls
    assert entered.total() == asynchronous + synchronous
    by_qemu = found.events and board_name != "q35-x86_64"  # where all are interrupts for QEMU
    by_cause = found.has_probes and board_name == "virt-rv32"
    if board_name in ("mps2-an385", "virt-aarch64") or by_qemu or by_cause:
        assert entered[NodeKind.TRAP] == 0
        assert entered[NodeKind.INTERRUPT] == asynchronous
    else:
        assert counted["svcs"] <= entered[NodeKind.EXCEPTION] <= synchronous
        assert entered[NodeKind.INTERRUPT] <= asynchronous
        assert entered[NodeKind.INTERRUPT] > asynchronous / 10 or board_name == "q35-x86_64"
    kinds = {kind for kind, n in entered.items() if n}
    flags = {
        kind for row in found.tables.handlers for kind in HANDLER_KINDS if row.kinds >> kind & 1
    }
    assert flags == kinds


def assert_all_returned(found: Found) -> None:
    """Every handler returned to what it had interrupted."""
    stats = found.stats
    assert stats.trap_returns == stats.traps
    assert all(row.complete == row.runs for row in found.tables.handlers)
    assert sum(row.tail_chained for row in found.tables.handlers) == stats.tail_chains
    assert stats.task_switches == stats.context_starts == stats.ambiguous == 0
    assert stats.abandoned == stats.unmatched_returns == stats.above_start == 0
    assert stats.unexplained == 0
