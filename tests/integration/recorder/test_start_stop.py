# SPDX-License-Identifier: GPL-2.0-or-later
"""Starting and stopping a recording: at any time, thousands of times, running, halted or asleep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gdbext.recording.reader import Recording
from gdbext.target.boards import load_board
from gdbext.target.control import ControlClient
from gdbext.target.qemu_binary import QemuBinary
from tests.support.executed import executed, pieces
from tests.support.gdb_stub import Stub
from tests.support.lfsr import BOARD, LOOP, contradiction, lfsr_elf, wfi_elf
from tests.support.qemu_runs import icount, running, wait_until

FindQemu = Callable[[str], QemuBinary]

PC = 15

ICOUNT = pytest.mark.parametrize("counted", [False, True], ids=["real-time", "icount"])


def arguments(counted: bool) -> list[str]:
    """The board's -icount, or nothing."""
    return icount(load_board(BOARD)) if counted else []


def vcpu_is_there(client: ControlClient) -> bool:
    """The control socket is there a little earlier; nothing is recorded."""
    there = client.start().vcpus == 1
    client.stop()
    client.clear()
    return there


@ICOUNT
def test_a_thousand_pieces_of_one_run_are_each_without_a_hole(
    counted: bool, find_qemu: FindQemu, tmp_path: Path
) -> None:
    board = load_board(BOARD)

    with running(
        *(board, lfsr_elf(tmp_path), find_qemu(board.qemu), tmp_path / "live"),
        arguments(counted),
        record=False,
    ) as run:
        with run.control() as client:
            wait_until(lambda: vcpu_is_there(client), "a vCPU")
            for number in range(1000):
                started = client.start(str(number))
                assert not started.already
                assert started.vcpus == 1
                assert client.stop() is False
            status = client.finish()
        assert status.gaps == 0

    with Recording.open(tmp_path / "live") as recording:
        assert recording.cut is None
        (vcpu,) = executed(recording)
        assert recording.end is not None
        assert recording.end[0].instructions == len(vcpu.addresses) == status.instructions
    found = pieces(vcpu)
    assert len(found) == 1000
    assert sum(map(len, found)) == len(vcpu.addresses)
    assert max(map(len, found)) > 100
    for number, piece in enumerate(found):
        assert contradiction(piece) is None, f"piece {number}"


@ICOUNT
def test_start_and_stop_say_whether_they_changed_anything(
    counted: bool, find_qemu: FindQemu, tmp_path: Path
) -> None:
    board = load_board(BOARD)

    with (
        running(
            *(board, lfsr_elf(tmp_path), find_qemu(board.qemu), tmp_path / "live"),
            arguments(counted),
            record=False,
        ) as run,
        run.control() as client,
    ):
        assert client.stop() is True
        assert client.start().already is False
        assert client.start().already is True
        assert client.status().state == "recording"
        assert client.stop() is False
        assert client.stop() is True
        assert client.status().state == "stopped"


@ICOUNT
def test_pieces_begin_and_end_where_gdb_has_halted_the_machine(
    counted: bool, find_qemu: FindQemu, tmp_path: Path
) -> None:
    board = load_board(BOARD)
    places = []

    with (
        running(
            *(board, lfsr_elf(tmp_path), find_qemu(board.qemu), tmp_path / "live"),
            arguments(counted),
            record=False,
            gdb=True,
        ) as run,
        Stub(run.gdb) as stub,
        run.control() as client,
    ):
        for _ in range(20):
            client.start()
            first = stub.register(PC)
            stub.go()
            stub.halt()
            client.mark("halted")
            client.stop()
            places.append((first, stub.register(PC)))
            stub.go()  # not recorded
            stub.halt()
        client.finish()

    (vcpu,) = executed(tmp_path / "live")
    found = pieces(vcpu)
    assert len(found) == len(places)
    for piece, (first, after) in zip(found, places, strict=True):
        assert contradiction(piece) is None
        if piece:
            assert piece[0] in ({first, first + 2} if counted else {first})
            assert after in successors(piece[-1])
        else:
            assert after in ({first, first + 2} if counted else {first})


def successors(address: int) -> set[int]:
    """Where the program can be when this was the last instruction begun.

    With -icount, QEMU gives up a device read that is not at a block's end and begins it again: the
    halt may come in between. What was begun before a piece is not in it, though it is repeated.
    """
    return {address, address + 2, address + 4, LOOP}


@ICOUNT
def test_single_steps_are_recorded_one_by_one(
    counted: bool, find_qemu: FindQemu, tmp_path: Path
) -> None:
    board = load_board(BOARD)
    stepped = []

    with (
        running(
            *(board, lfsr_elf(tmp_path), find_qemu(board.qemu), tmp_path / "live"),
            arguments(counted),
            record=False,
            gdb=True,
        ) as run,
        Stub(run.gdb) as stub,
        run.control() as client,
    ):
        client.start()
        for _ in range(60):
            stepped.append(stub.register(PC))
            stub.step()
        client.stop()
        for _ in range(7):
            stub.step()  # not recorded
        client.finish()

    (vcpu,) = executed(tmp_path / "live")
    assert vcpu.addresses.tolist() == stepped


@ICOUNT
def test_a_sleeping_core_answers(counted: bool, find_qemu: FindQemu, tmp_path: Path) -> None:
    board = load_board(BOARD)

    with (
        running(
            *(board, wfi_elf(tmp_path), find_qemu(board.qemu), tmp_path / "live"),
            arguments(counted),
            record=False,
        ) as run,
        run.control() as client,
    ):
        for number in range(50):
            assert client.start().already is False
            client.mark(f"asleep {number}")
            assert client.stop() is False
        client.start()
        assert client.clear() == 1
        client.sync()
        client.stop()
        client.finish()

    (vcpu,) = executed(tmp_path / "live")
    assert set(vcpu.addresses) <= {8, 10, 12}


def test_a_halted_machine_answers_before_it_has_ever_run(
    find_qemu: FindQemu, tmp_path: Path
) -> None:
    board = load_board(BOARD)

    with (
        running(
            *(board, lfsr_elf(tmp_path), find_qemu(board.qemu), tmp_path / "live"),
            record=False,
            gdb=True,
        ) as run,
        run.control() as client,
    ):
        wait_until(lambda: vcpu_is_there(client), "a vCPU")
        for _ in range(50):
            assert client.start().already is False
            client.mark("never ran")
            client.sync()
            assert client.stop() is False
        status = client.finish()

    assert status.instructions == 0
    (vcpu,) = executed(tmp_path / "live")
    assert [len(piece) for piece in pieces(vcpu)] == [0] * 50
