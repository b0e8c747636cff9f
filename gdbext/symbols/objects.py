# SPDX-License-Identifier: GPL-2.0-or-later
"""Data objects by address: which variable, such as a task's stack, an address lies in."""

from __future__ import annotations

import io
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from elftools.elf.elffile import ELFFile

from gdbext.symbols.image import reading
from gdbext.symbols.symtab import read_objects

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DataObject", "DataObjects"]


class DataObject(NamedTuple):
    """A variable of the program: [address, address + size), link addresses."""

    name: str
    address: int
    size: int


class DataObjects:
    """The variables of an ELF file; none if it is stripped."""

    def __init__(self, path: Path) -> None:
        """Read the symbol table. Raises SymbolError: the file cannot be read."""
        with reading(path, "ELF file"):
            data = path.read_bytes()
            elf = ELFFile(io.BytesIO(data))
        self._objects = [
            DataObject(symbol.name, symbol.value, symbol.size)
            for symbol in read_objects(path, data, elf)
        ]
        self._starts = [found.address for found in self._objects]

    def named(self, name: str) -> DataObject | None:
        """The first variable of that name."""
        return next((found for found in self._objects if found.name == name), None)

    def holding_stack(self, stack_pointer: int) -> DataObject | None:
        """The variable that a stack pointer points into; an empty stack points to its end."""
        n = bisect_right(self._starts, stack_pointer - 1)
        found = self._objects[n - 1] if n else None
        return found if found and stack_pointer <= found.address + found.size else None
