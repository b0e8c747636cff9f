# SPDX-License-Identifier: GPL-2.0-or-later
"""The instructions of a recording, entry for entry those of QEMU's own log."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path

import pytest

from gdbext.recording.reader import Recording
from gdbext.target.boards import boards, load_board
from gdbext.target.qemu_binary import QemuBinary
from tests.support.executed import executed, first_difference
from tests.support.firmware import counters, firmware_path
from tests.support.qemu_runs import icount, record, skip_if_mixed_up
from tests.truth.binutils import disassemble, symbols
from tests.truth.insnlog import collapse, run_logged

PROGRAMS = ["basic-O0", "basic-O2", "wait", "midblock", "midblock-fatal"]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("board_name", [board.name for board in boards()])
def test_recorded_instructions_equal_the_log(
    board_name: str, program: str, find_qemu: Callable[[str], QemuBinary], tmp_path: Path
) -> None:
    board = load_board(board_name)
    qemu = find_qemu(board.qemu)
    skip_if_mixed_up(board, qemu)
    name, _, variant = program.partition("-O")
    elf = firmware_path(name, board_name, f"O{variant}" if variant else "")

    for attempt in range(4):
        live = tmp_path / f"live{attempt}"
        run = record(board, elf, qemu, live, icount(board))
        log = run_logged(board, elf, icount(board), qemu)
        # On a busy machine a sleeping guest's runs were seen to differ by one timer interrupt.
        if counters(run.text()) == counters(log.output):
            break

    assert counters(run.text()) == counters(log.output)
    assert counters(run.text())["done"] == 1
    with Recording.open(live) as recording:
        assert recording.cut is None
        assert recording.end is not None
        recorded = executed(recording)
        assert [end.instructions for end in recording.end] == [len(v.addresses) for v in recorded]
    truth = list(log.vcpus)
    while len(truth) < len(recorded):
        truth.append(array("Q"))
    ours = [vcpu.addresses for vcpu in recorded]
    if board.target == "x86_64":
        ours, truth = [[comparable(vcpu, elf) for vcpu in side] for side in (ours, truth)]
    for number, (mine, logged) in enumerate(zip(ours, truth, strict=True)):
        assert first_difference(mine, logged) is None, f"vCPU {number}"


def comparable(addresses: array[int], elf: Path) -> array[int]:
    """The run of a PC up to the request to power off, `rep` instructions once each.

    The machine ends some instructions after the request, when the main loop gets to it.
    """
    instructions = disassemble(elf, "x86_64")
    leave = symbols(elf, "x86_64")["gx_exit"]
    outs = {a for a, insn in instructions.items() if insn.text.startswith("out ")}
    place = len(addresses) - 1 - addresses[::-1].index(leave)
    while addresses[place] not in outs:
        place += 1
    repeating = {a for a, insn in instructions.items() if insn.text.startswith("rep ")}
    return collapse(addresses[: place + 1], repeating)
