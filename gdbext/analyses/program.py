# SPDX-License-Identifier: GPL-2.0-or-later
"""What every question needs: a replay's tables joined with the symbols of the program."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from gdbext.analyses.arcs import arc_insns
from gdbext.analyses.entries import EntryMap, find_entries
from gdbext.coverage.execution import Execution, execution_of
from gdbext.errors import SymbolError
from gdbext.replay.counts import InsnCounts, count_insns
from gdbext.replay.kinds import EndKind
from gdbext.symbols.objects import DataObjects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gdbext.recording.blocks import BlockTable
    from gdbext.replay.calls import CallTables
    from gdbext.replay.classify import Classifier
    from gdbext.replay.functions import FunctionNumbers
    from gdbext.replay.tables import Tables
    from gdbext.symbols import Symbols

__all__ = ["Program", "changed_blocks", "found_calls"]

# More than this share of blocks with other bytes is another program, not one that changed itself.
CHANGED_SHARE_MAX = 0.02


class Program:
    """One program's execution up to one moment; the joins are made once, when asked for."""

    def __init__(
        self,
        target: str,
        blocks: BlockTable,
        classes: Classifier,
        tables: Tables,
        symbols: Symbols,
        changed: frozenset[int],
        calls: Callable[[], CallTables],
        numbers: FunctionNumbers,
        task_names: Mapping[str, str] | None = None,
    ) -> None:
        """Join what belongs together.

        Args:
            target: QEMU's target name.
            changed: ids of blocks whose bytes are not the ELF file's (`changed_blocks`).
            calls: gives the engine's results, read when first asked for.
            numbers: the functions by the numbers that the engine's results use.
            task_names: names of tasks by the symbol of their stack, or of their first function.
        """
        self.task_names = task_names or {}
        self.target = target
        self.blocks = blocks
        self.classes = classes
        self.tables = tables
        self.symbols = symbols
        self.changed = changed
        self.numbers = numbers
        self._read_calls = calls

    @cached_property
    def data_objects(self) -> DataObjects:
        """The program's variables."""
        return DataObjects(self.symbols.path)

    @cached_property
    def counts(self) -> InsnCounts:
        """Executions of each instruction."""
        return count_insns(self.blocks, self.tables, self.changed)

    @cached_property
    def calls(self) -> CallTables:
        """The tree of calls, handlers and tasks."""
        return self._read_calls()

    @cached_property
    def arc_insns(self) -> dict[tuple[int, int], int]:
        """Inclusive instructions by (caller, callee), as function numbers."""
        return arc_insns(self.calls.nodes)

    @cached_property
    def self_insns(self) -> dict[int, int]:
        """Instructions executed in each function's own code, by function address."""
        result: dict[int, int] = {}
        for address, n in self.counts.program.items():
            function = self.symbols.function_at(address)
            if function is not None:
                result[function.address] = result.get(function.address, 0) + n
        return result

    @cached_property
    def entries(self) -> EntryMap:
        """Entries of all functions."""
        return find_entries(self.blocks, self.classes, self.tables, self.symbols)

    @cached_property
    def execution(self) -> Execution:
        """What ran, by address: what coverage is measured from."""
        return execution_of(
            self.blocks,
            self.classes,
            self.tables,
            self.counts,
            self.changed,
            {
                address: arrivals.entries.calls + arrivals.entries.trap
                for address, arrivals in self.entries.arrivals.items()
            },
        )


def changed_blocks(
    blocks: BlockTable,
    symbols: Symbols,
    *,
    same_file: bool | None,
    known: frozenset[int],
    first: int,
) -> frozenset[int]:
    """Ids of the blocks whose bytes are not those of the ELF file.

    Args:
        same_file: whether the file's hash is the recorded program's; None: not recorded.
        known: the ids found among the blocks before `first`.

    Raises:
        SymbolError: this is not the program that was recorded.
    """
    changed = set(known)
    for block in range(first, len(blocks)):
        expected = symbols.bytes_at(blocks.address[block], blocks.n_bytes[block])
        if expected is not None and expected != blocks.code(block):
            changed.add(block)
    n_in_file = sum(1 for b in range(1, len(blocks)) if symbols.is_code(blocks.address[b]))
    if not n_in_file and len(blocks) > 1 and same_file is False:
        raise SymbolError(
            f"{symbols.path}: not the program that was recorded: none of the {len(blocks) - 1} "
            "executed blocks lies in its code; give the ELF that ran"
        )
    wrong = len(changed) > CHANGED_SHARE_MAX * n_in_file or same_file is False
    if changed and wrong and same_file is not True:
        where = min(blocks.address[block] for block in changed)
        raise SymbolError(
            f"{symbols.file_at(where)}: not the program that was recorded: {len(changed)} of "
            f"{n_in_file} executed blocks have other bytes, the first at {where:#x}; give the ELF "
            "that ran"
        )
    return frozenset(changed)


def found_calls(blocks: BlockTable, classes: Classifier, tables: Tables) -> set[int]:
    """Addresses that were called, for files that do not name their functions."""
    called = {
        blocks.address[edge.to]
        for edge in tables.edges
        if classes.end_kind[edge.from_] in (EndKind.CALL, EndKind.CALL_INDIRECT)
        and blocks.address[edge.to] != blocks.address[edge.from_] + blocks.n_bytes[edge.from_]
    }
    return called | {blocks.address[trap.to] for trap in tables.traps}
