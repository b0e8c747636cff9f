# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything gdbext asks of an ELF file, behind one class."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gdbext.symbols.demangling import demangle
from gdbext.symbols.dwarf import DebugInfo, UnitDetail
from gdbext.symbols.image import Image, open_elf, read_file, read_image
from gdbext.symbols.intervals import Intervals
from gdbext.symbols.model import Function, InlineFrame, LineRow, Mode, SourceLine, Vector
from gdbext.symbols.names import Names
from gdbext.symbols.sources import Sources
from gdbext.symbols.symtab import (
    RawFunction,
    SymbolTable,
    extent,
    mapping_kind,
    read_symbol_table,
)
from gdbext.symbols.vectors import read_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Symbols:
    """Functions, lines and bytes of one linked ELF file, by link address.

    Look-ups that need debug information raise SymbolError if it is damaged.
    """

    def __init__(self, image: Image, data: bytes, table: SymbolTable) -> None:
        self._image = image
        self._data = data
        self._table = table
        self._found_at: set[int] = set()
        self._debug: DebugInfo | None = None
        self._sources: Sources | None = None
        self._notes: list[str] = []
        self._named_bodies = Intervals((f.address, f.address + f.size) for f in table.functions)
        self._set_functions(self._with_found())

    @classmethod
    def open(cls, path: Path | str, cache_dir: Path | None = None) -> Symbols:
        """Read an ELF file.

        Raises:
            SymbolError: not there, no ELF file, damaged, not linked, or of another machine.
        """
        path = Path(path)
        data = read_file(path)
        elf = open_elf(path, data)
        image = read_image(path, data, elf)
        return cls(image, data, read_symbol_table(path, data, elf, image))

    @property
    def path(self) -> Path:
        """The ELF file."""
        return self._image.path

    @property
    def build_id(self) -> str | None:
        """GNU build ID in hex, None without one."""
        return self._image.build_id

    @property
    def sha256(self) -> str:
        """Hex digest of the file."""
        return self._image.sha256

    @property
    def machine(self) -> str:
        """'arm', 'aarch64', 'riscv', 'x86' or 'x86_64'."""
        return self._image.machine

    @property
    def bits(self) -> int:
        """32 or 64."""
        return self._image.bits

    @property
    def little_endian(self) -> bool:
        """Byte order of the file's data."""
        return self._image.little_endian

    @property
    def entry(self) -> int:
        """Entry address without the Thumb bit."""
        return self._image.entry

    @property
    def m_profile(self) -> bool | None:
        """Arm: whether the file was built for Cortex-M; None where it does not say."""
        return self._image.m_profile

    @property
    def stripped(self) -> bool:
        """Whether the file has no full symbol table."""
        return not self._table.present

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be read, one line each."""
        return tuple(self._notes)

    @property
    def functions(self) -> Sequence[Function]:
        """All functions by address."""
        return self._functions

    def function_at(self, address: int) -> Function | None:
        """The innermost function whose code holds `address`."""
        index = self._bodies.first(address)
        if index is not None:
            return self._functions[index]
        return self._by_address.get(address)

    def find(self, text: str) -> list[Function]:
        """Functions by name, `file.c:name`, C++ name without parameters or namespace, or 0xADDR."""
        if text[:2] in ("0x", "0X"):
            try:
                function = self.function_at(int(text, 16))
            except ValueError:
                return []
            return [function] if function else []
        return self._names.find(text)

    def suggest(self, text: str) -> list[str]:
        """Names that `text` may be a typing error of, nearest first."""
        return self._names.suggest(text)

    def complete(self, prefix: str) -> list[str]:
        """Function names that begin with `prefix`, sorted."""
        return self._names.complete(prefix)

    def line_at(self, address: int) -> SourceLine | None:
        """Source line of the instruction at `address`; None where there is none."""
        return self.sources.line_at(address)

    def inlined_at(self, address: int) -> tuple[InlineFrame, ...]:
        """The inline chain at `address`, innermost first, ending with the function that holds it.

        Each frame's file and line are where it executes, as `addr2line -i -f` prints them.
        Empty where nothing is inlined.
        """
        frames = self.sources.inlined_at(address)
        holder = self.function_at(address)
        return tuple(
            frame._replace(
                function=holder.name
                if holder and number == len(frames) - 1
                else demangle(frame.function)
            )
            for number, frame in enumerate(frames)
        )

    def rows_of(self, function: Function) -> list[LineRow]:
        """The line table of one function, by address."""
        return self.sources.rows(function.address, function.end)

    def bytes_at(self, address: int, size: int) -> bytes | None:
        """Bytes as the file loads them; None if any is not in the file."""
        return self._image.read(self._data, address, size)

    def mode_at(self, address: int) -> Mode | None:
        """'arm', 'thumb' or 'data' at `address`; None when unknown, and for other machines' code.

        Mapping symbols decide, then the Thumb bit of the function's symbol, then Cortex-M.
        """
        kind = mapping_kind(self._table.marks, self._image.sections, address)
        if kind == "d":
            return "data"
        if self.machine != "arm":
            return None
        if kind in ("a", "t"):
            return "thumb" if kind == "t" else "arm"
        function = self.function_at(address)
        if function is not None and function.mode is not None:
            return function.mode
        return "thumb" if self.m_profile and self._is_code(address) else None

    def add_found(self, addresses: Iterable[int]) -> list[Function]:
        """Add functions that were seen to be called where the file names none; return the new ones.

        A label of assembler code keeps its name, other addresses become `sub_ADDRESS`. Addresses
        that are in a function with a name, or in no code of the file, are left out.
        """
        new = {a for a in addresses if a not in self._by_address and self._is_nameless(a)}
        if not new:
            return []
        self._found_at |= new
        self._set_functions(self._with_found())
        return [self._by_address[address] for address in sorted(new)]

    def vector_table(self, address: int) -> list[Vector]:
        """The M-profile vector table at `address`, without its unused entries."""
        return read_vectors(self, address)

    @property
    def sources(self) -> Sources:
        """Lines and inlined code, opened at the first use."""
        if self._sources is None:
            import io

            from elftools.elf.elffile import ELFFile

            elf = ELFFile(io.BytesIO(self._data))
            debug = DebugInfo(self.path, elf, self._image, self._raw_names_at)
            units = debug.units()

            def load(number: int) -> UnitDetail:
                return debug.detail(units[number])

            self._sources = Sources(units, load)
            self._notes += debug.notes
        return self._sources

    def is_code(self, address: int) -> bool:
        """Whether the file has executable memory at `address`."""
        return self._is_code(address)

    def _is_code(self, address: int) -> bool:
        return any(low <= address < high for low, high in self._image.executable_ranges())

    def _is_nameless(self, address: int) -> bool:
        if not self._is_code(address):
            return False
        holder = self._named_bodies.first(address)
        return holder is None or address in self._table.labels

    def _with_found(self) -> list[Function]:
        """All functions, with those that only calls revealed cut out of what was around them."""
        named = [self._function(raw) for raw in self._table.functions]
        sized = {raw.address for raw in self._table.functions if raw.sized}
        starts = sorted({*self._found_at, *(f.address for f in named)})
        following = dict(itertools.pairwise(starts))
        functions = []
        for function in named:
            after = following.get(function.address)
            if after is not None and function.address not in sized and after < function.end:
                function = replace(function, size=after - function.address)
            functions.append(function)
        for address in self._found_at:
            name = self._table.labels.get(address, f"sub_{address:x}")
            size = extent(address, following.get(address), self._table, self._image)
            functions.append(Function(name, name, address, size, (), "found", None, self.line_at))
        return sorted(functions, key=lambda f: f.address)

    def _raw_names_at(self, address: int) -> tuple[str, ...]:
        return next((f.names for f in self._table.functions if f.address == address), ())

    def _function(self, raw: RawFunction) -> Function:
        name, *others = raw.names
        return Function(
            name=demangle(name),
            raw_name=name,
            address=raw.address,
            size=raw.size,
            aliases=tuple(demangle(other) for other in others),
            mode="thumb" if raw.mode == "thumb" else "arm" if raw.mode == "arm" else None,
            place=self.line_at,
        )

    def _set_functions(self, functions: list[Function]) -> None:
        self._functions = functions
        self._by_address = {f.address: f for f in functions}
        self._bodies = Intervals((f.address, f.end) for f in functions)
        self._names = Names(functions)
