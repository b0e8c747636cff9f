# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions as the C replay knows them: numbers from 1 on, 0 for code that no function holds."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gdbext.recording.blocks import BlockTable
    from gdbext.symbols import Function, Symbols

__all__ = ["FunctionNumbers"]


class FunctionNumbers:
    """The functions of one ELF file, numbered in the order of their addresses.

    Attributes:
        functions: by number; [0] is None.
    """

    def __init__(self, symbols: Symbols) -> None:
        """Number the functions that `symbols` knows now."""
        self._symbols = symbols
        self.functions: list[Function | None] = [None, *symbols.functions]
        self._numbers = {f.address: n for n, f in enumerate(self.functions) if f is not None}
        self._inlined: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.functions)

    @property
    def n_with_inlined(self) -> int:
        """Numbers are below."""
        return len(self.functions) + len(self._inlined)

    def of_inlined(self, name: str) -> int:
        """The number of a function where it is inlined; it has another one for its own code."""
        return self._inlined.setdefault(name, self.n_with_inlined)

    def inlined_name(self, number: int) -> str | None:
        """The name of an inlined function; None: that number is a function's own."""
        if number < len(self.functions):
            return None
        return next(name for name, n in self._inlined.items() if n == number)

    def number_at(self, address: int) -> int:
        """Number of the innermost function that holds `address`; 0 if none does."""
        function = self._symbols.function_at(address)
        return self._numbers.get(function.address, 0) if function is not None else 0

    def beginning_at(self, address: int) -> int:
        """Number of the function whose first instruction is at `address`; 0 if there is none."""
        return self._numbers.get(address, 0)

    def named(self, names: frozenset[str]) -> list[int]:
        """Numbers of the functions that have one of these names."""
        return [
            number
            for number, function in enumerate(self.functions)
            if function is not None and not names.isdisjoint((function.name, *function.aliases))
        ]

    def of_blocks(self, blocks: BlockTable, first: int) -> tuple[array[int], array[int], bytes]:
        """For the blocks from `first` on: function of the first instruction and of the last, and
        whether the first one is the first of its function (arrays of u32, u32, u8)."""
        starts, ends = array("I"), array("I")
        entries = bytearray()
        for block in range(first, len(blocks)):
            address = blocks.address[block]
            number = self.number_at(address)
            starts.append(number)
            function = self.functions[number]
            last = address + blocks.n_bytes[block] - blocks.sizes(block)[-1]
            inside = function is not None and function.address <= last < function.end
            ends.append(number if inside and not self._is_nested(last) else self.number_at(last))
            entries.append(function is not None and function.address == address)
        return starts, ends, bytes(entries)

    def _is_nested(self, address: int) -> bool:
        return address in self._numbers
