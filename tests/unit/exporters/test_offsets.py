# SPDX-License-Identifier: GPL-2.0-or-later
"""Places in modules."""

from __future__ import annotations

from pathlib import Path

from gdbext.exporters.offsets import Module, drcov, module_offsets, modules_of, place_blocks
from tests.truth.drcov import Block, read_drcov

GIB = 1 << 30


def test_near_ranges_are_one_module_and_far_ones_several() -> None:
    assert modules_of([(0x2000_0000, 0x2000_1000), (0, 0x100)]) == [Module(0, 0x2000_1000)]
    assert modules_of([(0, 0x100), (4 * GIB, 4 * GIB + 8)]) == [
        Module(0, 0x100),
        Module(4 * GIB, 4 * GIB + 8),
    ]


def test_range_over_the_limit_is_cut() -> None:
    assert modules_of([(GIB, 6 * GIB)]) == [Module(GIB, 5 * GIB), Module(5 * GIB, 6 * GIB)]
    assert modules_of([(0, 0x100), (3 * GIB, 5 * GIB)]) == [
        Module(0, 4 * GIB),
        Module(4 * GIB, 5 * GIB),
    ]


def test_block_that_was_always_left_ends_there(tmp_path: Path) -> None:
    blocks = [(0x100, b"\2\2\4"), (0x104, b"\4\2")]

    placed = place_blocks(blocks, {0x100, 0x102, 0x108}, [Module(0x100, 0x200)])
    (tmp_path / "t").write_bytes(drcov(placed, "a, b.elf"))

    read = read_drcov(tmp_path / "t")
    assert read.blocks == [Block(0, 4, 0), Block(8, 2, 0)]
    assert read.modules[0].path == "a, b.elf"


def test_what_is_in_no_module_is_counted(tmp_path: Path) -> None:
    modules = [Module(0, 8), Module(5 * GIB, 5 * GIB + 8)]
    executed = {0, 8, 5 * GIB + 4, 9 * GIB}

    placed = place_blocks([(a, b"\4") for a in sorted(executed)], executed, modules)
    (tmp_path / "t").write_bytes(drcov(placed, "t.elf"))

    assert placed.outside == 2
    assert read_drcov(tmp_path / "t").blocks == [Block(0, 4, 0), Block(4, 4, 1)]
    assert module_offsets(executed, modules, "t.elf") == "t.elf+0\nt.elf.1+4\n"
