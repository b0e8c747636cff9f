# SPDX-License-Identifier: GPL-2.0-or-later
"""Single numbers about a recording, quick enough for a breakpoint's condition.

The same numbers as the reports give; but nothing is read that they do not need, and what a name
means is looked up once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.analyses.entries import Reached, entries_of
from gdbext.coverage.code import read_code
from gdbext.errors import UsageError
from gdbext.replay.counts import count_insns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gdbext.recording.blocks import BlockTable
    from gdbext.replay.replay import Replay
    from gdbext.symbols import Function, Symbols
    from gdbext.symbols.model import Vector

__all__ = ["Counters"]


class Counters:
    """Answers about one recording as of its replay's last update; made once, asked often."""

    def __init__(
        self,
        replay: Replay,
        symbols: Symbols,
        target: str,
        find: Callable[[str], Function],
        vectors: Iterable[Vector],
        changed: Callable[[], frozenset[int]],
    ) -> None:
        """Nothing is read yet.

        Args:
            find: the one function of a name, or UsageError.
            vectors: entries of the vector table.
            changed: ids of the blocks whose bytes are not the ELF file's.
        """
        self._changed = changed
        self._replay = replay
        self._symbols = symbols
        self._target = target
        self._find = find
        self._vectors = {vector.name: vector.handler for vector in vectors}
        self._functions: dict[str, Function] = {}
        self._handlers: dict[str, int] = {}
        self._indexed: BlockTable | None = None
        self._n_indexed = 0
        self._at: dict[int, list[int]] = {}
        self._inside: dict[int, tuple[list[int], int]] = {}
        self._sizes: dict[int, tuple[frozenset[int], int]] = {}

    def instructions(self) -> int:
        """Instructions begun, all vCPUs."""
        return sum(insns for insns, _ in self._replay.pointwise().totals().values())

    def calls(self, name: str) -> int:
        """Times a function was called: `calls` of its report.

        Raises:
            UsageError: no function, or several, have that name.
        """
        function = self._function(name)
        self._index()
        now = self._replay.pointwise()
        edges = now.edges_to(function.address)
        other, continued = now.arrivals()
        reached = Reached(
            edges,
            now.traps_to(function.address),
            self._at.get(function.address, ()),
            other,
            continued,
        )
        return entries_of(
            self._replay.recording.blocks, self._replay.classes, reached, self._symbols, function
        ).calls

    def covered(self, name: str) -> float:
        """Percentage of a function's instructions that ran.

        Raises:
            UsageError: no function, or several, have that name; or its instructions are not known.
        """
        function = self._function(name)
        if self._symbols.stripped:
            raise UsageError(
                f"{self._symbols.path}: stripped: which instructions '{name}' has is not known"
            )
        self._index()
        now = self._replay.pointwise()
        executions = now.executions()
        counts = count_insns_of(
            self._replay.recording.blocks,
            [(block, executions[block]) for block in self._blocks_of(function)],
            now.cuts(),
            # An instruction that was begun again is in the block that went on with it, too.
            {},
            self._changed(),
        )
        executed = {
            address: n
            for address, n in counts.program.items()
            if function.address <= address < function.end
            and self._symbols.function_at(address) is function
        }
        total = self._n_insns(function, frozenset(executed))
        return 100.0 * sum(1 for n in executed.values() if n) / total if total else 0.0

    def irqs(self, name: str) -> int:
        """Times a handler was entered: `count` in `interrupts`.

        Args:
            name: a function, FUNCTION+0xOFFSET, or an entry of the vector table (`SysTick`).

        Raises:
            UsageError: nothing has that name.
        """
        if name not in self._handlers:
            self._handlers[name] = self._handler(name)
        return self._replay.pointwise().handler_runs(self._handlers[name])

    def _function(self, name: str) -> Function:
        if name not in self._functions:
            self._functions[name] = self._find(name)
        return self._functions[name]

    def _handler(self, name: str) -> int:
        """Address of a handler's first instruction."""
        if name in self._vectors:
            return self._vectors[name]
        function, plus, offset = name.rpartition("+")
        if plus and offset[:2] == "0x":
            try:
                return self._find(function).address + int(offset, 16)
            except ValueError:
                raise UsageError(f"'{name}': '{offset}' is no offset") from None
        return self._find(name).address

    def _index(self) -> None:
        """Take in the blocks that are new."""
        blocks = self._replay.recording.blocks
        if self._indexed is not blocks:
            self._indexed, self._n_indexed = blocks, 1
            self._at.clear()
            self._inside.clear()
        for block in range(self._n_indexed, len(blocks)):
            self._at.setdefault(blocks.address[block], []).append(block)
        self._n_indexed = len(blocks)

    def _blocks_of(self, function: Function) -> list[int]:
        """Ids of the blocks that hold some of its bytes."""
        blocks = self._replay.recording.blocks
        found, seen = self._inside.get(function.address, ([], 1))
        for block in range(seen, len(blocks)):
            start = blocks.address[block]
            if start < function.end and start + blocks.n_bytes[block] > function.address:
                found.append(block)
        self._inside[function.address] = (found, len(blocks))
        return found

    def _n_insns(self, function: Function, executed: frozenset[int]) -> int:
        """How many instructions its code has; what ran is code, whatever the file says."""
        known = self._sizes.get(function.address)
        if known is None or known[0] != executed:
            rows = self._symbols.rows_of(function)
            code = read_code(self._symbols, self._target, [function], rows, executed, whole=False)
            known = self._sizes[function.address] = (executed, len(code.addresses))
        return known[1]
