# SPDX-License-Identifier: GPL-2.0-or-later
"""How often each instruction was executed (begun), from the counts of blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gdbext.recording.blocks import BlockTable
    from gdbext.replay.tables import Cut, Tables

__all__ = ["InsnCounts", "count_insns", "count_insns_of", "last_insn"]


@dataclass
class InsnCounts:
    """Executions by instruction address (guest virtual).

    Attributes:
        program: instructions whose bytes are the ELF file's, or of which the file knows nothing.
        changed: instructions at addresses of the ELF file's code whose bytes are others.
    """

    program: dict[int, int] = field(default_factory=dict)
    changed: dict[int, int] = field(default_factory=dict)


def count_insns(blocks: BlockTable, tables: Tables, changed: frozenset[int]) -> InsnCounts:
    """Add up the blocks; blocks overlap, so an address may be in many.

    Args:
        changed: ids of the blocks whose bytes differ from the ELF file's.
    """
    executed = enumerate(tables.executions)
    return count_insns_of(blocks, executed, tables.cuts, tables.restarted, changed)


def count_insns_of(
    blocks: BlockTable,
    executions: Iterable[tuple[int, int]],
    all_cuts: Iterable[Cut],
    restarted: Mapping[int, int],
    changed: frozenset[int],
) -> InsnCounts:
    """As `count_insns`, of the blocks (id, times executed) in `executions`."""
    counts = InsnCounts()
    cuts: dict[int, list[tuple[int, int]]] = {}
    for cut in all_cuts:
        cuts.setdefault(cut.block, []).append((cut.begun, cut.n))
    for block, executed in executions:
        if not executed:
            continue
        into = counts.changed if block in changed else counts.program
        address = blocks.address[block]
        sizes = blocks.sizes(block)
        left = sorted(cuts.get(block, ()))
        n = executed
        for index, size in enumerate(sizes):
            while left and left[0][0] <= index:
                n -= left.pop(0)[1]
            if index == len(sizes) - 1:
                n -= restarted.get(block, 0)
            into[address] = into.get(address, 0) + n
            address += size
    return counts


def last_insn(blocks: BlockTable, block: int) -> int:
    """Address of the block's last instruction."""
    return blocks.address[block] + blocks.n_bytes[block] - blocks.sizes(block)[-1]
