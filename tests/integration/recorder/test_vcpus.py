# SPDX-License-Identifier: GPL-2.0-or-later
"""Two vCPUs, on one host thread and on two."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gdbext.recording.format import Event
from gdbext.recording.reader import Recording
from gdbext.target.boards import load_board
from gdbext.target.qemu_binary import QemuBinary
from tests.support.executed import VcpuRun, events_of, executed, first_difference, turns
from tests.support.firmware import counters, firmware_path
from tests.support.qemu_runs import MIXES_VCPUS_UP, icount, record, running
from tests.truth.binutils import functions, symbols
from tests.truth.insnlog import run_logged

SMP = {"mps2-an521": (), "virt-aarch64": ("-smp", "2"), "virt-rv64": ("-smp", "2")}
BOARDS = [
    "mps2-an521",
    "virt-aarch64",
    pytest.param("virt-rv64", marks=pytest.mark.slow),  # the first core waits for millions of turns
]
SINGLE = ("-accel", "tcg,thread=single")
MULTI = ("-accel", "tcg,thread=multi")

FindQemu = Callable[[str], QemuBinary]


def arrivals(run: VcpuRun, address: int) -> int:
    """How often the instruction was executed."""
    return run.addresses.count(address)


def compare_with_counters(runs: list[VcpuRun], elf: Path, target: str, output: str) -> None:
    """Each core entered `work` as often as it says, and ran no code of the other's."""
    counted = counters(output)
    address = symbols(elf, target)
    for core, run in enumerate(runs):
        assert arrivals(run, address["work"]) == counted[f"core{core}"] == 2000
    assert (arrivals(runs[0], address["main"]), arrivals(runs[1], address["main"])) == (1, 0)
    second = address["second_main"]
    assert (arrivals(runs[0], second), arrivals(runs[1], second)) == (0, 1)


@pytest.mark.parametrize("board_name", BOARDS)
def test_one_thread_under_icount_equals_the_log_in_order_too(
    board_name: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    board = load_board(board_name)
    qemu = find_qemu(board.qemu)
    if qemu.version >= MIXES_VCPUS_UP:
        pytest.skip("this QEMU cannot tell vCPUs on one thread apart")
    elf = firmware_path("smp", board_name)
    extra = [*SMP[board_name], *SINGLE, *icount(board)]

    run = record(board, elf, qemu, tmp_path / "live", extra)
    log = run_logged(board, elf, extra, qemu)

    runs = executed(tmp_path / "live")
    for mine, logged in zip(runs, log.vcpus, strict=True):
        assert first_difference(mine.addresses, logged) is None
    logged_next = [iter(addresses) for addresses in log.vcpus]
    assert turns(runs) == [(vcpu, next(logged_next[vcpu])) for vcpu in log.order]
    compare_with_counters(runs, elf, board.target, run.text())


@pytest.mark.parametrize("board_name", BOARDS)
def test_one_thread_tells_whose_turn_it_was(
    board_name: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    board = load_board(board_name)
    qemu = find_qemu(board.qemu)
    if qemu.version >= MIXES_VCPUS_UP:
        pytest.skip("this QEMU cannot tell vCPUs on one thread apart")
    elf = firmware_path("smp", board_name)

    run = record(board, elf, qemu, tmp_path / "live", [*SMP[board_name], *SINGLE])

    runs = executed(tmp_path / "live")
    compare_with_counters(runs, elf, board.target, run.text())
    numbered = [
        (at.numbers[0], vcpu)
        for vcpu, one in enumerate(runs)
        for at in one.events
        if at.event == Event.TURN
    ]
    owners = [vcpu for _, vcpu in sorted(numbered)]
    assert owners
    assert len({number for number, _ in numbered}) == len(numbered)
    assert all(owner != after for owner, after in itertools.pairwise(owners))
    # The second core starts only after the first has called for it.
    order = turns(runs)
    address = symbols(elf, board.target)
    started = order.index((0, address["smp_start_second"]))
    assert started < order.index((1, address["second_main"]))


@pytest.mark.parametrize("board_name", BOARDS)
def test_one_thread_is_refused_where_qemu_mixes_vcpus_up(
    board_name: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    board = load_board(board_name)
    qemu = find_qemu(board.qemu)
    if qemu.version < MIXES_VCPUS_UP:
        pytest.skip("this QEMU tells vCPUs on one thread apart")
    elf = firmware_path("smp", board_name)

    with running(
        board, elf, qemu, tmp_path / "live", [*SMP[board_name], *SINGLE], record=True
    ) as run:
        status = run.wait()

    # The program is not hurt, and nothing half-true is recorded.
    assert status == 0
    assert counters(run.text())["iterations"] == 4000
    assert run.text().count("gdbext: recording stopped: this QEMU cannot tell several vCPUs") == 1
    with Recording.open(tmp_path / "live") as recording:
        runs = executed(recording)
    for one in runs:
        assert not one.addresses
        assert Event.GAP in [at.event for at in one.events]


@pytest.mark.parametrize("board_name", SMP)
def test_two_threads_count_what_each_core_did(
    board_name: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    board = load_board(board_name)
    qemu = find_qemu(board.qemu)
    elf = firmware_path("smp", board_name)

    run = record(board, elf, qemu, tmp_path / "live", [*SMP[board_name], *MULTI])

    with Recording.open(tmp_path / "live") as recording:
        assert recording.cut is None
        assert recording.end is not None
        inexact = "cut-inexact" in recording.meta["features"]
        runs = executed(recording)
        assert [one.instructions for one in recording.end] == [len(r.addresses) for r in runs]
    assert inexact == (qemu.family == "v1")
    compare_with_counters(runs, elf, board.target, run.text())
    kinds = [{at.event for at in one.events} for one in runs]
    assert not any(Event.TURN in kind for kind in kinds)
    # `work_all` and what it calls has no device access: each core ran exactly the same, twice.
    of_work = {
        address
        for function in functions(elf, board.target)
        if function.name in ("work", "work_all")
        for address in range(function.address, function.address + function.size_bytes)
    }
    first, second = ([a for a in one.addresses if a in of_work] for one in runs)
    assert first == second


def test_two_threads_have_common_epochs(find_qemu: FindQemu, tmp_path: Path) -> None:
    board = load_board("virt-rv64")
    qemu = find_qemu(board.qemu)
    elf = two_loops(tmp_path)

    extra = [*SMP["virt-rv64"], *MULTI]
    with running(board, elf, qemu, tmp_path / "live", extra, record=False) as run:
        while len(common_epochs(tmp_path / "live")) < 3:
            with run.control() as client:
                client.start()
                time.sleep(0.05)
                client.stop()

    with Recording.open(tmp_path / "live") as recording:
        for events in events_of(recording):
            syncs = [at for at in events if at.event == Event.SYNC]
            assert is_rising([at.numbers[0] for at in syncs])
            places = [at.place for at in syncs]
            assert places == sorted(places)
            times = [at.numbers[1] for at in syncs]
            assert times == sorted(times)


def common_epochs(directory: Path) -> set[int]:
    """Epochs that began on both vCPUs."""
    if not (directory / "stream").exists():
        return set()
    with Recording.open(directory) as recording:
        first, second = (
            {at.numbers[0] for at in events if at.event == Event.SYNC}
            for events in events_of(recording)
        )
    return first & second


def is_rising(numbers: list[int]) -> bool:
    """Each is greater than the one before."""
    return numbers == sorted(set(numbers))


def two_loops(directory: Path) -> Path:
    """A program in which every core counts for ever, at a low rate of recorded bytes."""
    if shutil.which("riscv64-unknown-elf-gcc") is None:
        pytest.skip("riscv64-unknown-elf-gcc is not installed")
    source = directory / "loops.s"
    source.write_text(".global _start\n_start:\n" + " nop\n" * 400 + " j _start\n")
    elf = directory / "loops.elf"
    subprocess.run(
        [
            *("riscv64-unknown-elf-gcc", "-march=rv64i", "-mabi=lp64", "-nostdlib"),
            *("-Wl,-Ttext=0x80000000", "-o", str(elf), str(source)),
        ],
        check=True,
    )
    return elf
