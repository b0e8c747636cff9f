# SPDX-License-Identifier: GPL-2.0-or-later
"""The instruction log is a truth: it agrees with what the firmware counted and with objdump."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gdbext.target.boards import boards, load_board
from gdbext.target.qemu_binary import QemuBinary
from tests.support.firmware import counters
from tests.truth.binutils import disassemble, symbols
from tests.truth.insnlog import instruction_log, run_logged

FindQemu = Callable[[str], QemuBinary]
Firmware = Callable[..., Path]

ALL = [board.name for board in boards()]
ROUNDS = 24
"""ROUNDS in tests/firmware/midblock/midblock.c."""


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("program", "variant"), [("basic", "O0"), ("wait", "")])
def test_log_agrees_with_the_firmwares_counters_and_objdump(
    find_qemu: FindQemu, firmware: Firmware, name: str, program: str, variant: str
) -> None:
    board = load_board(name)
    elf = firmware(program, name, variant)

    log = run_logged(board, elf, qemu=find_qemu(board.qemu))

    at = symbols(elf, board.target)
    entries = Counter(log.vcpus[0])
    told = counters(log.output)
    assert log.status == 0
    assert told["done"] == 1
    assert entries[at["gx_timer_tick"]] == told["interrupts"] > 10
    assert entries[at["round_trip"]] == told["iterations"] == 60
    assert entries[at["board_supervisor_call"]] == told["svcs"]
    assert entries[at["board_software_interrupt"]] == told["pendsv"]
    assert entries[at["tail_even"]] + entries[at["tail_odd"]] == told["tail"]
    operations = ("add", "subtract", "xor", "rotate")
    assert sum(entries[at[f"operation_{name}"]] for name in operations) == told["indirect"]
    if variant == "O0":
        assert entries[at["fibonacci"]] == told["recursive"]
    # The log has no address inside an instruction, or outside of the code.
    known = disassemble(elf, board.target)
    ours = {address for address in entries if min(known) <= address <= max(known)}
    assert len(ours) > 300
    assert ours <= set(known)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("program", ["midblock", "midblock-fatal"])
def test_instructions_around_faults_and_device_accesses_count_exactly(
    find_qemu: FindQemu, firmware: Firmware, name: str, program: str
) -> None:
    board = load_board(name)
    elf = firmware(program, name)
    fatal = program == "midblock-fatal"

    log = run_logged(board, elf, qemu=find_qemu(board.qemu))

    assert log.status == 0
    assert counters(log.output)["pendsv"] == ROUNDS * (4 if "mps2" in name else 3)
    entries = Counter(log.vcpus[0])
    # Straight code: each instruction once a round, also the device accesses.
    for function in ("midblock_interrupt", "midblock_device_read"):
        assert set(_counts(elf, board.target, function, entries)) == {ROUNDS}
    # One load faults in each round; in every second one it is executed again. In the fatal
    # variant it faults once more, and nothing behind it is executed.
    counts = _counts(elf, board.target, "midblock_fault", entries)
    restarts = ROUNDS // 2
    load = counts.index(ROUNDS + restarts + fatal)
    assert set(counts[:load]) == {ROUNDS + fatal}
    assert set(counts[load + 1 :]) == {ROUNDS}


def test_two_runs_are_the_same(find_qemu: FindQemu, firmware: Firmware) -> None:
    board = load_board("mps2-an385")
    elf = firmware("wait", board.name)
    qemu = find_qemu(board.qemu)

    first, second = (instruction_log(board, elf, qemu=qemu) for _ in range(2))

    assert first == second


@pytest.mark.parametrize(
    ("name", "more"),
    [("mps2-an521", []), ("virt-aarch64", ["-smp", "2"]), ("virt-rv64", ["-smp", "2"])],
)
def test_two_cores_have_a_list_each(
    find_qemu: FindQemu, firmware: Firmware, name: str, more: list[str]
) -> None:
    board = load_board(name)
    elf = firmware("smp", name)
    assert board.icount is not None

    log = run_logged(board, elf, ["-icount", board.icount, *more], find_qemu(board.qemu))

    told = counters(log.output)
    work = symbols(elf, board.target)["work"]
    assert told["core0"] == log.vcpus[0].count(work) == 2000
    assert told["core1"] == log.vcpus[1].count(work) == 2000
    assert len(log.order) == sum(map(len, log.vcpus))


def _counts(elf: Path, target: str, function: str, entries: Counter[int]) -> list[int]:
    """How often each instruction of a function was executed, in the order of addresses.

    The last are left out that never were (padding and literals behind the return).
    """
    start = symbols(elf, target)[function]
    ends = [address for address in symbols(elf, target).values() if address > start]
    code = disassemble(elf, target)
    counts = [entries[address] for address in sorted(code) if start <= address < min(ends)]
    while counts[-1] == 0:
        counts.pop()
    return counts
