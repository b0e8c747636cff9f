# SPDX-License-Identifier: GPL-2.0-or-later
"""What ran last: after a crash whose handler spins or faults again, in GDB on a live recording,
and against all slices of the run."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from gdbext.analyses.workspace import Workspace
from gdbext.recording import Recording
from gdbext.recording.blocks import pack_block
from gdbext.recording.tokens import BlockStep, steps, totals
from gdbext.recording.writer import RecordingWriter
from gdbext.replay.slices import SliceWindow
from gdbext.target.boards import load_board
from tests.integration.engine.runs import FindQemu
from tests.integration.test_debug import debug
from tests.support.firmware import firmware_path
from tests.support.gdbext_cli import gdbext
from tests.support.qemu_runs import icount, record
from tests.support.tokens import Step, encode
from tests.truth.insnlog import instruction_log

# `main` counts down, and calls `outer`, which calls `inner`, which faults. The handler calls
# `note`, and ends in AT_END.
CRASH = """
.syntax unified
.thumb
.macro function name
.globl \\name
.type \\name, %function
.thumb_func
\\name:
.endm
.section .vectors, "a"
.word 0x20001000, main
.word 0, HardFault_Handler
.text
function main
    movs r4, #5
1:  subs r4, #1
    bne 1b
    bl outer
    b .
.size main, . - main
function outer
    push {lr}
    bl inner
    pop {pc}
.size outer, . - outer
function inner
    movs r0, #1
    udf #0
    bx lr
.size inner, . - inner
function HardFault_Handler
    push {lr}
    bl note
AT_END
.size HardFault_Handler, . - HardFault_Handler
function note
    movs r1, #2
    bx lr
.size note, . - note
"""
# The same, newest first: function, depth, handler, what began, and the first words of each.
BEFORE_THE_END = [
    ("note", 2, "HardFault_Handler", None, "bx lr"),
    ("note", 2, "HardFault_Handler", "call", "movs r1, #2"),
    ("HardFault_Handler", 1, "HardFault_Handler", None, "bl"),
    ("HardFault_Handler", 1, "HardFault_Handler", "exception", "push {lr}"),
    ("inner", 3, None, None, "udf #0"),
    ("inner", 3, None, "call", "movs r0, #1"),
    ("outer", 2, None, None, "bl"),
    ("outer", 2, None, "call", "push {lr}"),
    ("main", 1, None, None, "bl"),
    *[("main", 1, None, None, "bne"), ("main", 1, None, None, "subs r4, #1")] * 5,
    ("main", 1, None, "task", "movs r4, #5"),
]


def crashing(folder: Path, at_end: str) -> Path:
    compiler = shutil.which("arm-none-eabi-gcc")
    if compiler is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    text, elf = folder / "crash.S", folder / "crash.elf"
    text.write_text(CRASH.replace("AT_END", at_end))
    options = ["-mcpu=cortex-m3", "-nostdlib", "-static", "-Wl,-e,main"]
    places = ["-Wl,--section-start=.vectors=0", "-Wl,-Ttext=0x100"]
    subprocess.run([compiler, *options, *places, "-o", elf, text], check=True)
    return elf


def steps_of(recording: Path, elf: Path, *words: str) -> list[dict[str, Any]]:
    done = gdbext("last", recording, *words, "--elf", elf, "--json", runtime=recording.parent)
    assert done.status == 0, done.err
    steps: list[dict[str, Any]] = json.loads(done.out)["steps"]
    return steps


def seen(step: dict[str, Any]) -> tuple[Any, ...]:
    return step["function"], step["depth"], step["handler"], step["entered"]


def assert_way_to_the_fault(steps: list[dict[str, Any]]) -> None:
    expected = BEFORE_THE_END[: len(steps)]
    assert [seen(step) for step in steps] == [each[:4] for each in expected]
    for step, each in zip(steps, expected, strict=True):
        assert step["text"].startswith(each[4]), step
    assert not any(step["relative"] for step in steps)


@pytest.mark.parametrize(("at_end", "n_insns"), [("b .", 1), ("2: nop\n nop\n b 2b", 3)])
def test_way_into_a_fault_handler_that_spins(at_end: str, n_insns: int, tmp_path: Path) -> None:
    elf, recording = crashing(tmp_path, at_end), tmp_path / "t.rec"
    done = gdbext(
        *("record", elf, "--board", "mps2-an385", "-o", recording, "--timeout", "1"),
        runtime=tmp_path,
    )
    assert done.status == 124, done.err

    steps = steps_of(recording, elf, "40")
    calls = steps_of(recording, elf, "6", "--call")
    total = Workspace(recording, elf)
    total.refresh()

    spin = [step for step in steps if step["text"].startswith(("b ", "b.", "nop"))]
    (repeated,) = [step for step in spin if step["times"] > 1]
    assert spin == steps[: len(spin)]
    assert len(spin) < 2 * n_insns
    assert repeated["round_insns"] == n_insns
    assert {seen(step) for step in spin} == {("HardFault_Handler", 1, "HardFault_Handler", None)}
    rest = len(BEFORE_THE_END)
    hidden = (repeated["times"] - 1) * n_insns
    assert hidden > 1_000_000
    assert len(spin) + hidden + rest == total.program.tables.instructions
    assert_way_to_the_fault(steps[len(spin) :])
    assert len(steps) == len(spin) + rest
    assert [(*seen(step), step["n_insns"]) for step in calls] == [
        ("HardFault_Handler", 1, "HardFault_Handler", None, len(spin) + hidden),
        ("note", 2, "HardFault_Handler", "call", 2),
        ("HardFault_Handler", 1, "HardFault_Handler", "exception", 2),
        ("inner", 3, None, "call", 2),
        ("outer", 2, None, "call", 2),
        ("main", 1, None, "task", 12),
    ]


def test_way_into_a_lockup(tmp_path: Path) -> None:
    elf, recording = crashing(tmp_path, "udf #1"), tmp_path / "t.rec"

    done = gdbext(
        *("record", elf, "--board", "mps2-an385", "-o", recording, "--timeout", "5"),
        runtime=tmp_path,
    )

    assert "Lockup" in done.out + done.err
    steps = steps_of(recording, elf, "40")
    assert steps[0]["text"] == "udf #1"
    assert seen(steps[0]) == ("HardFault_Handler", 1, "HardFault_Handler", None)
    assert_way_to_the_fault(steps[1:])
    assert len(steps) == 1 + len(BEFORE_THE_END)


def test_at_a_breakpoint_of_a_live_recording(tmp_path: Path) -> None:
    elf = firmware_path("basic", "mps2-an385", "O0")

    done = debug(tmp_path, elf, "trace start", "break gx_timer_tick", "continue", "trace last 3")

    rows = [line.split() for line in done.out.splitlines()]
    newest = rows[rows.index(next(row for row in rows if row[:2] == ["address", "depth"])) + 1]
    assert newest[1:3] == ["1", "SysTick_Handler"], done.out + done.err
    assert "interrupt SysTick_Handler" in done.out


@pytest.mark.parametrize("program", ["traps", "tasks"])
def test_places_are_those_of_all_slices(program: str, find_qemu: FindQemu, tmp_path: Path) -> None:
    board = load_board("mps2-an385")
    elf = firmware_path(program, board.name, "O2")
    done = record(board, elf, find_qemu(board.qemu), tmp_path / "t", icount(board))
    workspace = Workspace(done.directory, elf)
    workspace.refresh()
    n = 40_000
    total = workspace.program.tables.instructions
    # By instruction: the innermost of the slices that it is in, in the track that runs.
    slices = list(workspace.timeline(SliceWindow(total - n)).slices())
    inner: dict[int, tuple[int, str, int]] = {}
    for each in sorted(slices, key=lambda each: (each.level, each.depth)):
        for number in range(each.start, each.end) if each.level else ():
            inner[number] = (each.depth, each.function.name, each.level)

    insns = workspace.last_insns(n)
    log = instruction_log(board, elf, qemu=find_qemu(board.qemu))

    assert [insn.address for insn in reversed(insns)] == list(log[-n:])
    placed = [insn.place for insn in reversed(insns)]
    assert all(place is not None and not place.relative for place in placed)
    in_handlers = {
        total - n + index: (place.depth, insn.function, place.level)
        for index, (insn, place) in enumerate(zip(reversed(insns), placed, strict=True))
        if place is not None and place.level
    }
    assert in_handlers == inner
    assert in_handlers
    runs = workspace.last_calls(500)
    grouped = [
        (function, depth, len(list(group)))
        for (function, depth, _), group in groupby(
            (i.function, i.place.depth, i.place.level) for i in insns if i.place is not None
        )
    ]
    # Calls one after the other from a loop of the same line are runs of their own.
    assert sum(run.n_insns for run in runs) <= n
    assert [(run.function, run.place.depth) for run in runs[:100] if run.place] == [
        each[:2] for each in grouped[:100]
    ]


def test_depth_is_relative_where_only_the_end_is_replayed(
    find_qemu: FindQemu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = load_board("mps2-an385")
    elf = firmware_path("traps", board.name, "O2")
    done = record(board, elf, find_qemu(board.qemu), tmp_path / "t", icount(board))
    path = tmp_path / "chunks.rec"
    in_chunks(done.directory, path, 30)
    workspace = Workspace(path, elf)
    workspace.refresh()
    monkeypatch.setattr("gdbext.analyses.places.CHUNKS", 30)
    whole = workspace.last_calls(50)

    monkeypatch.setattr("gdbext.analyses.places.CHUNKS", 1)
    part = workspace.last_calls(50)

    assert [(run.function, run.n_insns) for run in part] == [
        (run.function, run.n_insns) for run in whole
    ]
    assert not any(run.place and run.place.relative for run in whole)
    assert all(run.place and run.place.relative for run in part)
    differences = {
        w.place.depth - p.place.depth
        for w, p in zip(whole, part, strict=True)
        if w.place and p.place and not w.place.level
    }
    assert len(differences) == 1
    assert min(differences) >= 0


def in_chunks(recording: Path, path: Path, n: int) -> None:
    """Write the one chunk of a recording as `n` chunks."""
    with Recording.open(recording) as old, path.open("wb") as out:
        (data,) = old.data()
        found = steps(data.raw, data.run, old.blocks.count, "test")
        every: list[Step] = [
            step.block if isinstance(step, BlockStep) else (step.event, step.payload)
            for step in found
        ]
        writer = RecordingWriter(out)
        writer.meta(old.meta)
        blocks = [old.blocks.block(number) for number in range(1, len(old.blocks))]
        writer.blocks([pack_block(b.address, bytes(b.sizes), b.code) for b in blocks])
        size = len(every) // n + 1
        for first in range(0, len(every), size):
            raw = encode(every[first : first + size])[0]
            n_insns, n_blocks = totals(raw, 0, old.blocks, "test")
            writer.chunk(raw, n_insns=n_insns, n_blocks=n_blocks)
        writer.end(1)
