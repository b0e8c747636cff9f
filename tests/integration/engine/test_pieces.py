# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings that begin deep in the program, are stopped and started again, or hold a reset."""

from __future__ import annotations

import json
import socket
from collections import Counter
from pathlib import Path

import pytest

from gdbext.replay.calls import HANDLER_KINDS, TreeRow
from gdbext.symbols import Symbols
from gdbext.target.boards import load_board
from tests.integration.engine.runs import BOARDS, FindQemu, assert_sums
from tests.support.books import Found, read_books
from tests.support.firmware import firmware_path
from tests.support.gdb_stub import Stub
from tests.support.qemu_runs import icount, running

DEPTH = 7
"""`deep` recurses at most so deep, first in round 7 of `calls`."""


class Program:
    """The program of a test and where its functions begin."""

    def __init__(self, board_name: str, variant: str) -> None:
        self.elf = firmware_path("calls", board_name, variant)
        self._symbols = Symbols.open(self.elf)

    def at(self, name: str) -> str:
        """A breakpoint packet for a function, without its verb."""
        (function,) = self._symbols.find(name)
        return f"1,{function.address:x},{2 if self._symbols.machine == 'arm' else 4}"


def run_to(stub: Stub, place: str, times: int = 1) -> None:
    """Continue to a breakpoint, so many times; not to the one that it may stand at."""
    for _ in range(times):
        stub.step()
        assert stub.ask(f"Z{place}") == "OK"
        assert stub.ask("c").startswith("T05")
        assert stub.ask(f"z{place}") == "OK"


@pytest.mark.parametrize("variant", ["O0-quiet", "O2-quiet", "O2"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_start_in_a_deep_stack(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    board, program = load_board(board_name), Program(board_name, variant)
    directory = tmp_path / "t"

    with running(
        board, program.elf, find_qemu(board.qemu), directory, icount(board), record=False, gdb=True
    ) as qemu:
        with Stub(qemu.gdb) as stub, qemu.control() as control:
            run_to(stub, program.at("bottom"), DEPTH + 1)
            control.start()
            stub.step()  # a step lets no interrupt in
            stub.go()
            assert qemu.wait() == 0, qemu.text()
        books = read_books(qemu.text())

    found = Found(directory, program.elf)
    assert_sums(found)
    # `bottom`, DEPTH + 1 times `deep`, `round` and `main` were open.
    assert found.stats.above_start == DEPTH + 4
    assert found.stats.unmatched_returns == 0
    rounds = books.counters["iterations"] - DEPTH - 1
    calls = found.calls()
    assert calls["round"] - calls_of_starts(found)["round"] == rounds
    assert calls["bottom"] - calls_of_starts(found)["bottom"] == rounds


@pytest.mark.parametrize("place", ["handler", "tick_helper"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_start_in_a_handler(
    board_name: str, place: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    # With -O2 the handler of Cortex-M goes on to gx_timer_tick by a tail call: it is not known.
    board, program = (
        load_board(board_name),
        Program(board_name, "O0" if "mps2" in board_name else "O2"),
    )
    directory = tmp_path / "t"
    handler = {"mps2-an385": "SysTick_Handler", "virt-rv32": "trap_entry"}.get(board_name)
    if handler is None:
        if place == "handler":
            pytest.skip("its handlers have no names of their own")
        handler = place

    with running(
        board, program.elf, find_qemu(board.qemu), directory, icount(board), record=False, gdb=True
    ) as qemu:
        with Stub(qemu.gdb) as stub, qemu.control() as control:
            run_to(stub, program.at(handler if place == "handler" else place), 5)
            control.start()
            stub.step()
            stub.go()
            assert qemu.wait() == 0, qemu.text()
        books = read_books(qemu.text())

    found = Found(directory, program.elf)
    assert_sums(found)
    stats = found.stats
    # The fifth run of the handler had begun; it returns, and all that come after it are complete.
    assert stats.traps == books.counters["interrupts"] - 5
    assert stats.trap_returns == stats.traps + 1
    assert sum(row.runs for row in found.tables.handlers) == stats.traps
    assert found.calls()["tick_helper"] == books.counters["interrupts"] - 4
    assert len(found.tables.tasks) == 1
    assert stats.context_starts == stats.task_switches == stats.unmatched_returns == 0
    # No function of the handlers is in a task's part of the tree.
    assert not {"tick_helper", "gx_timer_tick"} & {
        found.name(node.function) for node in found.nodes[1:] if not in_handler(found, node)
    }


@pytest.mark.parametrize("board_name", BOARDS)
def test_stopped_and_started_again(board_name: str, find_qemu: FindQemu, tmp_path: Path) -> None:
    board, program = load_board(board_name), Program(board_name, "O2")
    directory = tmp_path / "t"
    n_pieces = 5

    with (
        running(
            board,
            program.elf,
            find_qemu(board.qemu),
            directory,
            icount(board),
            record=False,
            gdb=True,
        ) as qemu,
        Stub(qemu.gdb) as stub,
        qemu.control() as control,
    ):
        for _ in range(n_pieces):
            run_to(stub, program.at("bottom"))
            control.start()
            run_to(stub, program.at("middle"))
            control.stop()
        stub.go()
        assert qemu.wait() == 0, qemu.text()

    found = Found(directory, program.elf)
    assert_sums(found)
    assert found.stats.starts == n_pieces
    assert found.stats.unmatched_returns == found.stats.abandoned == 0
    # From the first instruction of `bottom` to before the first one of `middle`, in the next round.
    assert found.calls()["bottom"] == n_pieces
    assert calls_of_starts(found)["bottom"] == n_pieces
    assert "middle" not in found.calls()


@pytest.mark.parametrize("board_name", BOARDS)
def test_system_reset_in_the_middle(board_name: str, find_qemu: FindQemu, tmp_path: Path) -> None:
    board, program = load_board(board_name), Program(board_name, "O2-quiet")
    directory, monitor = tmp_path / "t", tmp_path / "qmp"
    extra = [*icount(board), "-qmp", f"unix:{monitor},server=on,wait=off"]

    with running(board, program.elf, find_qemu(board.qemu), directory, extra, gdb=True) as qemu:
        with Stub(qemu.gdb) as stub:
            run_to(stub, program.at("bottom"), 3)
            system_reset(monitor)
            stub.go()
            assert qemu.wait() == 0, qemu.text()
        books = read_books(qemu.text())

    found = Found(directory, program.elf)
    assert_sums(found)
    assert found.stats.resets == 1
    assert found.stats.unmatched_returns == found.stats.above_start == 0
    assert found.stats.traps == found.stats.trap_returns == found.calls().get("gx_timer_tick", 0)
    calls = found.calls()
    # Halted before the first instruction of the third `bottom`.
    assert calls["main"] == 2
    assert calls["bottom"] == books.calls["bottom"] + 2
    assert calls["round"] == books.calls["round"] + 3


def in_handler(found: Found, node: TreeRow) -> bool:
    """Whether a node of the tree is below a handler."""
    while node.parent:
        node = found.nodes[node.parent]
    return node.kind in HANDLER_KINDS


def calls_of_starts(found: Found) -> Counter[str]:
    """How often each function was what ran first."""
    counted: Counter[str] = Counter()
    for node in found.nodes[1:]:
        if node.parent == 0:
            counted[found.name(node.function)] += node.calls
    return counted


def system_reset(monitor: Path) -> None:
    """Reset the machine, and wait for QEMU to say that it did."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(monitor))
        with connection.makefile("rw") as lines:
            lines.readline()
            for command in ("qmp_capabilities", "system_reset"):
                lines.write(json.dumps({"execute": command}) + "\n")
                lines.flush()
            while "RESET" not in (line := lines.readline()):
                assert line
