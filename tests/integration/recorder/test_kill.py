# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU killed while it records, 100 times: what is left is what was executed until then."""

from __future__ import annotations

import random
import shutil
import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

import pytest

from gdbext.recording.reader import Recording
from gdbext.target.boards import load_board
from gdbext.target.qemu_binary import QemuBinary
from tests.support.executed import VcpuRun, executed
from tests.support.firmware import firmware_path
from tests.support.qemu_runs import icount, record, running
from tests.truth.binutils import symbols

KILLS = 25

# Boards whose RAM can lie in a file, and where it begins for the guest.
RAM = {"virt-aarch64": 0x40000000, "virt-rv64": 0x80000000, "virt-rv32": 0x80000000}

# Counters of gx_counters (tests/firmware/include/gx.h) with the functions that count in them, once
# a call and after their first instruction.
COUNTERS = {
    2: ("gx_timer_tick",),
    6: ("fibonacci",),
    8: ("tail_even", "tail_odd"),
}


@pytest.mark.parametrize("board_name", ["mps2-an385", *RAM])
def test_killed_recording_is_a_prefix_of_the_whole_run(
    board_name: str, find_qemu: Callable[[str], QemuBinary], tmp_path: Path
) -> None:
    board = load_board(board_name)
    qemu = find_qemu(board.qemu)
    elf = firmware_path("basic", board_name, "O0")
    extra = icount(board)
    ram = tmp_path / "ram"
    if board_name in RAM:
        backend = f"memory-backend-file,id=ram,size=128M,mem-path={ram},share=on"
        extra += ["-object", backend, "-machine", "memory-backend=ram"]
    record(board, elf, qemu, tmp_path / "whole", extra)
    with Recording.open(tmp_path / "whole") as recording:
        (whole,) = executed(recording)
        (chunk,) = recording.chunks
    moments = random.Random(board_name)
    lengths = []

    for number in range(KILLS):
        live = tmp_path / f"live{number}"
        ram.unlink(missing_ok=True)
        moment = moments.randrange(1, chunk.raw_length)
        with running(board, elf, qemu, live, extra) as run:
            while published_bytes(live / "live") < moment and run.process.poll() is None:
                pass
            run.process.kill()
            run.process.wait()
        with Recording.open(live) as recording:
            assert recording.cut is None
            (left,) = executed(recording)
        compare(left, whole)
        if board_name in RAM and len(left.addresses):
            address = symbols_of(elf, board.target)["gx_counters"] - RAM[board_name]
            counters = read_counters(ram, address)
            compare_with_memory(left, whole, counters, symbols_of(elf, board.target))
        lengths.append(len(left.addresses))
        shutil.rmtree(live)

    # The moments must differ for the test to say anything; on a busy machine several are alike.
    assert len({length for length in lengths if length < len(whole.addresses)}) > KILLS // 5


def published_bytes(path: Path) -> int:
    """Bytes of tokens in the vCPU's first buffer (docs/trace-format.md, "live")."""
    try:
        with path.open("rb") as file:
            file.seek(4096)
            word = file.read(8)
    except FileNotFoundError:
        return 0
    return int.from_bytes(word, "little") >> 40


def compare(left: VcpuRun, whole: VcpuRun) -> None:
    """A prefix, but for the end of the very last block, which may not have been reached."""
    certain = len(left.addresses) - left.last_block
    assert left.addresses[:certain] == whole.addresses[:certain]
    if left.last_block:
        assert left.addresses[certain] == whole.addresses[certain]
        assert certain in whole.starts[bisect_right(whole.starts, certain) - 1 :][:1]


def compare_with_memory(
    left: VcpuRun, whole: VcpuRun, counters: tuple[int, ...], address_of: dict[str, int]
) -> None:
    """What the program had counted was recorded, but for one block at most; and nothing more."""
    certain = len(left.addresses) - left.last_block
    after = bisect_right(whole.starts, certain)  # the block after the last one recorded
    end = whole.starts[after + 1] if after + 1 < len(whole.starts) else len(whole.addresses)
    for field, names in COUNTERS.items():
        entries = places(whole.addresses, {address_of[name] for name in names})
        counted = counters[field]
        if counted:
            assert entries[counted - 1] < end, f"{names}: {counted} counted, fewer recorded"
        # An entry that is recorded was counted soon after, unless the kill came in between.
        recorded = bisect_right(entries, certain - 1)
        assert recorded <= counted + 1, f"{names}: {counted} counted, {recorded} recorded"


def places(addresses: array[int], wanted: set[int]) -> list[int]:
    """Where one of the addresses was executed."""
    found = []
    for address in wanted:
        start = 0
        for _ in range(addresses.count(address)):
            start = addresses.index(address, start) + 1
            found.append(start - 1)
    return sorted(found)


def read_counters(ram: Path, offset: int) -> tuple[int, ...]:
    """The fields of gx_counters in a file that was the guest's memory."""
    with ram.open("rb") as file:
        file.seek(offset)
        return struct.unpack("<12I", file.read(48))


def symbols_of(elf: Path, target: str) -> dict[str, int]:
    """nm's symbols, asked once."""
    if elf not in _symbols:
        _symbols[elf] = symbols(elf, target)
    return _symbols[elf]


_symbols: dict[Path, dict[str, int]] = {}
