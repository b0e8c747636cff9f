# SPDX-License-Identifier: GPL-2.0-or-later
"""Registers read where handlers begin and end: what they say, and what the engine makes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gdbext.recording.format import Event, Probe, Register, unpack_leb
from gdbext.recording.reader import Recording
from gdbext.recording.tokens import BlockStep, steps
from gdbext.replay.calls import NodeKind
from gdbext.replay.tables import TrapSource
from gdbext.target.boards import load_board
from tests.integration.engine.runs import BOARDS, FindQemu
from tests.support.books import Found
from tests.support.firmware import counters, firmware_path
from tests.support.qemu_runs import icount, record
from tests.truth import binutils

PROGRAMS = ["tasks", "traps"]
EXC_RETURN = 0xFFFFFF00
EXCEPTIONS = {
    3: ("HardFault_Handler", "faults"),
    11: ("SVC_Handler", "svcs"),
    14: ("PendSV_Handler", "pendsv"),
    15: ("SysTick_Handler", "interrupts"),
    24: ("TIMER0_IRQHandler", "high"),
}
"""By number: the handler, and the counter that the program keeps of it."""
OWN = (
    {"task_a", "work_a", "leaf_a", "take_a"},
    {"task_b", "even_b", "odd_b", "take_b"},
    {"task_c", "deep_c", "take_c"},
)
"""The functions of each task, in the order of their stacks."""


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("board_name", BOARDS)
def test_all_sources_of_traps_agree(
    board_name: str, program: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    """QEMU's report, probes and inference on the same program, which runs the same each time."""
    probed = recorded(program, board_name, "O2", find_qemu, tmp_path / "probed", probes=True)
    plain = recorded(program, board_name, "O2", find_qemu, tmp_path / "plain", probes=False)
    if not probed.has_probes:
        pytest.skip("this QEMU reads no registers for plugins")

    assert summary(probed) == summary(plain)
    assert TrapSource.PROBE not in sources(plain)
    assert sources(probed).total() == probed.stats.traps
    if TrapSource.EVENT in sources(plain):  # all but Cortex-M's tail-chained ones
        probes = [t for t in probed.program.tables.traps if t.source == TrapSource.PROBE]
        assert bool(probes) == (board_name == "mps2-an385")
        assert all(trap.n == trap.tail_chained for trap in probes)
        assert TrapSource.INFERRED not in sources(probed)
    else:
        assert set(sources(probed)) == {TrapSource.PROBE}
        assert set(sources(plain)) == {TrapSource.INFERRED}


def test_cortex_m_exception_numbers_are_those_of_the_vector_table(
    find_qemu: FindQemu, tmp_path: Path
) -> None:
    board = load_board("mps2-an385")
    elf = firmware_path("traps", board.name, "O2")

    done = record(board, elf, find_qemu(board.qemu), tmp_path / "t", icount(board))

    symbols = binutils.symbols(elf, board.target)
    by_address = {symbols[name]: number for number, (name, _) in EXCEPTIONS.items()}
    seen: Counter[int] = Counter()
    for registers, address in contexts(done.directory):
        if address in by_address and registers[Register.LR] >= EXC_RETURN:
            assert registers[Register.XPSR] & 0x1FF == by_address[address]
            seen[by_address[address]] += 1
    counted = counters(done.text())
    assert seen == {n: counted[name] for n, (_, name) in EXCEPTIONS.items()}


def test_riscv_causes_and_interrupted_instructions(find_qemu: FindQemu, tmp_path: Path) -> None:
    board = load_board("virt-rv32")
    elf = firmware_path("traps", board.name, "O2")

    done = record(board, elf, find_qemu(board.qemu), tmp_path / "t", icount(board))

    counted = counters(done.text())
    causes: Counter[int] = Counter()
    found = Found(done.directory, elf)
    insns = binutils.disassemble(elf, board.target)
    ecalls = {address for address, insn in insns.items() if insn.text.startswith("ecall")}
    for registers, _ in contexts(done.directory):
        if registers[Register.PROBE] & (Probe.TRAP | Probe.VECTOR):
            cause = registers[Register.MCAUSE]
            causes[cause] += 1
            assert cause != 11 or registers[Register.MEPC] in ecalls
    asynchronous = counted["interrupts"] + counted["pendsv"]
    assert causes[11] == counted["svcs"]
    assert sum(n for cause, n in causes.items() if cause >> 31) == asynchronous
    kinds = {node.kind: node.calls for node in found.nodes[1:] if node.parent == 0}
    assert kinds[NodeKind.INTERRUPT] == asynchronous
    assert kinds[NodeKind.EXCEPTION] == counted["svcs"] + counted["faults"]


@pytest.mark.parametrize("board_name", BOARDS)
def test_stack_pointers_lie_in_the_stack_of_the_task_that_goes_on(
    board_name: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    board = load_board(board_name)
    elf = firmware_path("tasks", board.name, "O2")

    done = record(board, elf, find_qemu(board.qemu), tmp_path / "t", icount(board))

    (stacks,) = (v for v in binutils.functions(elf, board.target, "bB") if v.name == "stacks")
    each = stacks.size_bytes // len(OWN)
    functions = binutils.functions(elf, board.target)
    seen: Counter[int] = Counter()
    for registers, address in contexts(done.directory):
        if registers[Register.PROBE] == Probe.RETURN:
            for task, names in enumerate(OWN):
                if any(
                    f.address <= address < f.address + f.size_bytes
                    for f in functions
                    if f.name in names
                ):
                    start = stacks.address + task * each
                    assert start < registers[Register.SP] <= start + each
                    seen[task] += 1
    assert all(seen[task] > 10 for task in range(len(OWN)))


# Runs and what is compared of them.


def recorded(
    program: str, board_name: str, variant: str, find_qemu: FindQemu, directory: Path, probes: bool
) -> Found:
    """What the engine finds in a run, with or without probes."""
    board = load_board(board_name)
    elf = firmware_path(program, board_name, variant)
    record(board, elf, find_qemu(board.qemu), directory, icount(board), probes=probes)
    return Found(directory, elf)


def sources(found: Found) -> Counter[TrapSource]:
    """Traps by how they are known."""
    counts: Counter[TrapSource] = Counter()
    for trap in found.program.tables.traps:
        counts[trap.source] += trap.n
    return counts


def summary(found: Found) -> dict[str, Any]:
    """What must not depend on how traps are known."""
    traps: Counter[tuple[int, int, int]] = Counter()
    for trap in found.program.tables.traps:
        traps[trap.from_, trap.begun, trap.to] += trap.n
    return {
        "traps": traps,
        "handlers": [row._replace(kinds=0) for row in found.tables.handlers],
        "tasks": [row._replace(stack_pointer=None) for row in found.tables.tasks],
        "tree": tree(found),
        "stats": found.stats,
        "edges": sorted(found.program.tables.edges),
    }


def tree(found: Found) -> dict[str, tuple[int, int]]:
    """(calls, self instructions) of every path; whether interrupt or exception is left out, since
    that may be a guess where a trap is inferred."""
    texts = [""]
    paths: dict[str, tuple[int, int]] = {}
    for node in found.nodes[1:]:
        mark = ">" if node.kind == NodeKind.TAIL else "/"
        text = f"{texts[node.parent]}{mark}{found.name(node.function)}"
        before = paths.get(text, (0, 0))
        paths[text] = (before[0] + node.calls, before[1] + node.self_insns)
        texts.append(text)
    return paths


def contexts(directory: Path) -> Iterator[tuple[dict[int, int], int]]:
    """The registers of each CONTEXT event, and the address of the block after it."""
    with Recording.open(directory) as recording:
        if "probes" not in recording.meta["features"]:
            pytest.skip("this QEMU reads no registers for plugins")
        pending: dict[int, int] | None = None
        for data in recording.data():
            for step in steps(data.raw, data.run, recording.blocks.count, "t"):
                if isinstance(step, BlockStep):
                    if pending is not None:
                        yield pending, recording.blocks.address[step.block]
                    pending = None
                elif step.event == Event.CONTEXT:
                    assert pending is None
                    pending = registers_of(step.payload)


def registers_of(payload: bytes) -> dict[int, int]:
    """The pairs of a CONTEXT event."""
    count, place = unpack_leb(payload, 0)
    numbers = []
    for _ in range(2 * count):
        number, place = unpack_leb(payload, place)
        numbers.append(number)
    return dict(zip(numbers[::2], numbers[1::2], strict=True))
