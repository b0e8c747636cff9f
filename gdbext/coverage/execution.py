# SPDX-License-Identifier: GPL-2.0-or-later
"""What ran of one program, by address: instructions, outcomes of branches, entries of functions.

It knows no symbols, so those of several recordings of one program can be added up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

from gdbext.replay.conditions import is_branch
from gdbext.replay.counts import last_insn
from gdbext.replay.kinds import EndKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdbext.recording.blocks import BlockTable
    from gdbext.replay.classify import Classifier
    from gdbext.replay.counts import InsnCounts
    from gdbext.replay.tables import Tables

__all__ = ["Execution", "Outcomes", "execution_of"]


class Outcomes(NamedTuple):
    """How often a branch instruction went elsewhere, and how often to the next instruction.

    These do not add up to its executions where its outcome was not recorded: a trap came after it
    that never returned, recording stopped there, or its target is the next instruction.
    """

    taken: int
    not_taken: int


@dataclass
class Execution:
    """Counts by instruction address (guest virtual; of the ELF file's own code)."""

    insns: dict[int, int] = field(default_factory=dict)
    """Times begun, also by instructions whose condition failed."""
    outcomes: dict[int, Outcomes] = field(default_factory=dict)
    """Of every branch, call and return, whether conditional or not."""
    entries: dict[int, int] = field(default_factory=dict)
    """Times that the function at this address was entered, as a handler too."""
    changed: int = 0
    """Executed instructions whose bytes are not the ELF file's; they are in no other count."""

    def add(self, other: Execution) -> Self:
        """Add what another recording of the same program ran; returns self."""
        for address, n in other.insns.items():
            self.insns[address] = self.insns.get(address, 0) + n
        for address, n in other.entries.items():
            self.entries[address] = self.entries.get(address, 0) + n
        for address, more in other.outcomes.items():
            own = self.outcomes.get(address, _NONE)
            self.outcomes[address] = Outcomes(
                own.taken + more.taken, own.not_taken + more.not_taken
            )
        self.changed += other.changed
        return self


_NONE = Outcomes(0, 0)


def execution_of(
    blocks: BlockTable,
    classes: Classifier,
    tables: Tables,
    counts: InsnCounts,
    changed: frozenset[int],
    entries: Mapping[int, int],
) -> Execution:
    """What one recording ran.

    Args:
        counts: of the same blocks and tables.
        changed: ids of blocks whose bytes are not the ELF file's.
        entries: by function address.
    """
    return Execution(
        insns=counts.program,
        outcomes=_outcomes(blocks, classes, tables, changed),
        entries=dict(entries),
        changed=sum(counts.changed.values()),
    )


def _outcomes(
    blocks: BlockTable, classes: Classifier, tables: Tables, changed: frozenset[int]
) -> dict[int, Outcomes]:
    """Outcomes of every branch that ends an executed block; several blocks may end with one."""
    found: dict[int, list[int]] = {}
    for edge in tables.edges:
        block = edge.from_
        kind = classes.end_kind[block]
        if not is_branch(kind) or block in changed:
            continue
        to = blocks.address[edge.to]
        following = blocks.address[block] + blocks.n_bytes[block]
        target = classes.target[block]
        if kind == EndKind.COND:
            if target == following or to not in (target, following):
                continue  # nothing tells
            taken = to == target
        else:
            taken = to != following
        both = found.setdefault(last_insn(blocks, block), [0, 0])
        both[not taken] += edge.total
    return {address: Outcomes(*both) for address, both in found.items()}
