# SPDX-License-Identifier: GPL-2.0-or-later
"""`trace stop-on`: a moved vector table, two cores, a guest that sleeps, nobody to release it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gdbext.commands._saving import recorded_totals
from gdbext.target.boards import load_board
from gdbext.target.stopon import read_condition, set_condition
from tests.support.firmware import firmware_path
from tests.support.gdb_session import need_gdb
from tests.support.gdbext_cli import Done, forever_elf, gdbext
from tests.support.qemu_runs import running, wait_until
from tests.support.qemus import qemu_in
from tests.truth.binutils import symbols

BOARD = "mps2-an385"

MOVED_TABLE = """\
.syntax unified
.cpu cortex-m3
.thumb
.word 0x20004000
.word _start
.word 0
.word old_fault
.macro function name
.global \\name
.type \\name, %function
.thumb_func
\\name:
.endm
function old_fault
  b .
.size old_fault, .-old_fault
function _start
  ldr r0, =0x20000400
  ldr r1, =new_fault
  str r1, [r0, #12]
  ldr r1, =_start
  str r1, [r0, #4]
  ldr r2, =0xe000ed08
  str r0, [r2]
  dsb
.size _start, .-_start
function moved
  nop
  udf #0
.size moved, .-moved
function new_fault
  nop
  b .
.size new_fault, .-new_fault
.pool
"""

SLEEPING = """\
.syntax unified
.cpu cortex-m3
.thumb
.word 0x20004000
.word _start
.space 52
.word tick
.global _start
.type _start, %function
.thumb_func
_start:
  ldr r0, =0xe000e010
  ldr r1, =50000
  str r1, [r0, #4]
  movs r1, #7
  str r1, [r0]
  ldr r4, =0x20000000
  movs r5, #0
  str r5, [r4]
sleep: wfi
  b sleep
.size _start, .-_start
.global tick
.type tick, %function
.thumb_func
tick:
  ldr r5, [r4]
  adds r5, #1
  str r5, [r4]
  bx lr
.size tick, .-tick
.pool
"""


def assembled(directory: Path, source: str) -> Path:
    """Link a Cortex-M program at 0; skips without the cross compiler."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    (directory / "p.s").write_text(source)
    elf = directory / "p.elf"
    command = ["arm-none-eabi-gcc", "-nostdlib", "-Wl,-Ttext=0", "-o", str(elf)]
    subprocess.run([*command, str(directory / "p.s")], check=True)
    return elf


def debug(runtime: Path, board: str, elf: Path, *commands: str, qemu: tuple[str, ...] = ()) -> Done:
    need_gdb()
    qemu_in("", load_board(board).qemu)
    words = [word for command in commands for word in ("-ex", command)]
    return gdbext(
        *("debug", elf, "--board", board, "--gdb", "-nx", "-batch", *words, "--", *qemu),
        runtime=runtime,
        cwd=runtime,
    )


def test_fault_handlers_are_those_of_the_table_in_use(tmp_path: Path) -> None:
    elf = assembled(tmp_path, MOVED_TABLE)
    done = debug(
        *(tmp_path, BOARD, elf),
        "trace start",
        "break moved",
        "continue",
        "delete",
        "trace stop-on fault",
        "continue",
        'printf "AT %d\\n", (unsigned long) $pc',
    )

    assert "stop-on: a fault's handler begins; " in done.out, done.out + done.err
    place = re.search(r"^AT (\d+)$", done.out, re.MULTILINE)
    assert place is not None
    assert 0 <= int(place[1]) - symbols(elf, "arm")["new_fault"] < 4


def test_one_of_two_busy_cores_hits(tmp_path: Path) -> None:
    board = "virt-aarch64"
    done = debug(
        *(tmp_path, board, firmware_path("smp", board)),
        "trace start",
        "trace stop-on insn work --count 1500",
        "continue",
        'printf "DONE %d\\n", smp_counts[0] + smp_counts[1]',
        "trace stop-on off",
        "continue",
        qemu=("-smp", "2"),
    )

    assert "stop-on: work is executed 1,500 times; " in done.out, done.out + done.err
    # The other core runs on until QEMU has stopped, but the count is that of both together.
    counted = re.search(r"^DONE (\d+)$", done.out, re.MULTILINE)
    assert counted is not None
    assert 1499 <= int(counted[1]) < 4000
    assert "exited normally" in done.out


def test_a_guest_that_mostly_sleeps_stops_at_its_handler(tmp_path: Path) -> None:
    done = debug(
        *(tmp_path, BOARD, assembled(tmp_path, SLEEPING)),
        "trace start",
        "trace stop-on insn tick --count 5",
        "continue",
        'printf "TICKS %d\\n", *(int *) 0x20000000',
    )

    assert "stop-on: tick is executed 5 times; " in done.out, done.out + done.err
    ticks = re.search(r"^TICKS (\d+)$", done.out, re.MULTILINE)
    assert ticks is not None and int(ticks[1]) in (4, 5)


def test_a_guest_that_nobody_releases_goes_on_by_itself(tmp_path: Path) -> None:
    board = load_board(BOARD)
    elf = forever_elf(tmp_path)
    with running(board, elf, qemu_in("", board.qemu), tmp_path / "live") as run:
        client = run.control()
        client.start()
        set_condition(client, [symbols(elf, "arm")["count"]], 1000)
        wait_until(lambda: read_condition(client).hit, "the hit")
        held = recorded_totals(tmp_path / "live")[0]
        assert recorded_totals(tmp_path / "live")[0] == held

        wait_until(lambda: not read_condition(client).is_set, "the end of the condition")
        wait_until(lambda: recorded_totals(tmp_path / "live")[0] > held, "the program going on")
        client.close()
