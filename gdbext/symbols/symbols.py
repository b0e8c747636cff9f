# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything gdbext asks of an ELF file, behind one class."""

from __future__ import annotations

import hashlib
import itertools
from bisect import bisect_left, bisect_right
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from gdbext.errors import SymbolError
from gdbext.symbols.cache import Cache, default_directory
from gdbext.symbols.debugstore import DebugStore
from gdbext.symbols.demangling import demangle
from gdbext.symbols.dwarf import Anchors
from gdbext.symbols.image import Image, file_sha256, read_file
from gdbext.symbols.index import Index, index_from_json, index_to_json, read_index
from gdbext.symbols.intervals import Intervals
from gdbext.symbols.joined import Part, join
from gdbext.symbols.model import Function, InlineFrame, LineRow, Mode, SourceLine, Vector
from gdbext.symbols.names import Names
from gdbext.symbols.sources import Sources, source_line, source_lines
from gdbext.symbols.symtab import extent, mapping_kind
from gdbext.symbols.vectors import read_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdbext.placed import PlacedElf
    from gdbext.symbols.sources import DebugReader


class Symbols:
    """Functions, lines and bytes of a linked ELF file, by address in memory.

    Other files may lie beside it (`open`); then they are looked up as if they were part of it.
    Look-ups that need debug information raise SymbolError if it is damaged.
    """

    def __init__(
        self,
        index: Index,
        data: bytes,
        debug: DebugReader,
        cache: Cache,
        files: Sequence[tuple[Image, int]] = (),
    ) -> None:
        """Args: files: images with their distance from their link addresses, this one's first."""
        self._index = index
        self._image = index.image
        self._data = data
        self._debug = debug
        self._cache = cache
        self.kept: dict[str, Any] = {}
        """What others worked out from this file alone, for as long as it is open."""
        self._files = files or [(index.image, 0)]
        self._code_ranges = index.image.executable_ranges()
        self._named = [replace(f, place=self.line_at) for f in index.functions]
        self._named_bodies = Intervals((f.address, f.end) for f in self._named)
        self._found_at: set[int] = set()
        self._set_functions(self._named)

    @classmethod
    def open(
        cls,
        path: Path | str,
        cache_dir: Path | Literal["default"] | None = "default",
        others: Sequence[PlacedElf] = (),
    ) -> Self:
        """Read an ELF file, or what the cache keeps of it; `cache_dir` None uses no cache.

        Args:
            others: files that lie in memory beside it.

        Raises:
            SymbolError: not there, no ELF file, damaged, not linked, or of another machine; or two
                files have code at the same address.
        """
        folder = default_directory() if cache_dir == "default" else cache_dir
        index, data, debug, cache = _opened(Path(path), folder)
        if not others:
            return cls(index, data, debug, cache)
        parts = [Part(index, data, debug, 0)]
        for other in others:
            index, data, debug, _ = _opened(other.path, folder)
            linked = index.image.load_address
            bias = 0 if other.address is None else other.address - linked
            parts.append(Part(index, data, debug, bias))
        joined, whole, reader = join(parts)
        together = " ".join(f"{part.index.image.sha256}@{part.bias:x}" for part in parts)
        cache = Cache(folder, file_sha256(together.encode()))
        files = [(part.index.image, part.bias) for part in parts]
        return cls(joined, whole, reader, cache, files)

    def load_bytes(self, part: str) -> bytes | None:
        """What `store_bytes` stored, in this session or an earlier one; None: nothing."""
        return self._cache.load_bytes(part)

    def store_bytes(self, part: str, content: bytes) -> None:
        """Store what was worked out from this file alone; of no effect where there is no cache."""
        self._cache.store_bytes(part, content)

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
    def load_address(self) -> int:
        """Link address at which the file's content begins."""
        return self._files[0][0].load_address

    @property
    def entries(self) -> list[int]:
        """Entry addresses of the file and those beside it, without the Thumb bit."""
        return [image.entry + bias for image, bias in self._files]

    def file_at(self, address: int) -> Path:
        """The ELF file that has code at `address`; the first where none has."""
        for image, bias in self._files:
            if any(low <= address - bias < high for low, high in image.executable_ranges()):
                return image.path
        return self.path

    @property
    def m_profile(self) -> bool | None:
        """Arm: whether the file was built for Cortex-M; None where it does not say."""
        return self._image.m_profile

    @property
    def stripped(self) -> bool:
        """Whether the file has no full symbol table."""
        return self._index.stripped

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be read of the debug information, one line each."""
        try:
            self._debug.units()
        except SymbolError as error:
            return (str(error),)
        return (*self._index.notes, *self._debug.notes)

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

    @cached_property
    def code_sha256(self) -> str:
        """Hex digest of the code and where it is: the same for copies without debug information."""
        digest = hashlib.sha256(self.machine.encode())
        for start, end in self._code_ranges:
            content = self.bytes_at(start, end - start)
            digest.update(f"{start:x} {end:x} ".encode() + (content or b""))
        return digest.hexdigest()

    def loaded_ranges(self) -> list[tuple[int, int]]:
        """Address ranges [start, end) that the program takes in memory, one a segment."""
        segments = self._image.segments
        return [(s.address, s.address + s.memory_size) for s in segments if s.memory_size]

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

    def code_spans(self, start: int, end: int) -> list[tuple[int, int, Mode | None]]:
        """The code in [start, end) cut where the instruction set changes, data left out.

        Each span is half-open and has its instruction set as `mode_at` says.
        """
        marks = self._index.marks
        first = bisect_right(marks, start, key=lambda mark: mark.address)
        last = bisect_left(marks, end, key=lambda mark: mark.address)
        borders = [start, *(mark.address for mark in marks[first:last]), end]
        spans = [
            (low, high, self.mode_at(low))
            for low, high in itertools.pairwise(borders)
            if low < high
        ]
        return [span for span in spans if span[2] != "data"]

    def declared_at(self, function: Function) -> SourceLine | None:
        """Where the source names the function; where its code begins if nothing says."""
        declared = self.sources.declared(function.address, function.raw_name)
        return declared or self.place_of(function)

    def place_of(self, function: Function) -> SourceLine | None:
        """Where the function's own source begins, also where it begins with inlined code."""
        frames = self.sources.inlined_at(function.address)
        if frames and frames[-1].file is not None and frames[-1].line is not None:
            return SourceLine(frames[-1].file, frames[-1].line, 0)
        return self.line_at(function.address)

    def lines_of(self, function: Function) -> tuple[str, int, int] | None:
        """File, first and last line of a function's source, as far as it has code of its own.

        Code that is inlined into it is left out; None where there is no debug information.
        """
        where = self.place_of(function)
        if where is None:
            return None
        own = {
            row.line
            for row in self.rows_of(function)
            if row.file == where.file and row.line and not self.sources.inlined_at(row.start)
        }
        return where.file, min(own, default=where.line), max(own, default=where.line)

    def source_text(self, file: str, line: int) -> str | None:
        """One line of a source file as it is on this machine; None without the file or line."""
        return source_line(file, line)

    def source_lines(self, file: str) -> list[str]:
        """The lines of a source file as it is on this machine; none if it is not there."""
        return source_lines(file)

    def bytes_at(self, address: int, size: int) -> bytes | None:
        """Bytes as the file loads them; None if any is not in the file."""
        return self._image.read(self._data, address, size)

    def mode_at(self, address: int) -> Mode | None:
        """'arm', 'thumb' or 'data' at `address`; None when unknown, and for other machines' code.

        Mapping symbols decide, then the Thumb bit of the function's symbol, then Cortex-M.
        """
        kind = mapping_kind(self._index.marks, self._image.sections, address)
        if kind == "d":
            return "data"
        if self.machine != "arm":
            return None
        if kind in ("a", "t"):
            return "thumb" if kind == "t" else "arm"
        function = self.function_at(address)
        if function is not None and function.mode is not None:
            return function.mode
        return "thumb" if self.m_profile and self.is_code(address) else None

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

    @cached_property
    def sources(self) -> Sources:
        """Lines and inlined code, opened at the first use."""
        return Sources(self._debug)

    def is_code(self, address: int) -> bool:
        """Whether the file has executable memory at `address`."""
        return any(low <= address < high for low, high in self._code_ranges)

    def _is_nameless(self, address: int) -> bool:
        if not self.is_code(address):
            return False
        holder = self._named_bodies.first(address)
        return holder is None or address in self._index.labels

    def _with_found(self) -> list[Function]:
        """All functions, with those that only calls revealed cut out of what was around them."""
        starts = sorted({*self._found_at, *(f.address for f in self._named)})
        following = dict(itertools.pairwise(starts))
        functions = []
        for function in self._named:
            after = following.get(function.address)
            unsized = function.address in self._index.unsized
            if unsized and after is not None and after < function.end:
                function = replace(function, size=after - function.address)
            functions.append(function)
        for address in self._found_at:
            name = self._index.labels.get(address, f"sub_{address:x}")
            size = extent(address, following.get(address), self._index.data_starts, self._image)
            functions.append(Function(name, name, address, size, (), "found", None, self.line_at))
        return sorted(functions, key=lambda f: f.address)

    def _set_functions(self, functions: list[Function]) -> None:
        self._functions = functions
        self._by_address = {f.address: f for f in functions}
        self._bodies = Intervals((f.address, f.end) for f in functions)
        self.__dict__.pop("_names", None)

    @cached_property
    def _names(self) -> Names:
        return Names(self._functions)


def _opened(path: Path, folder: Path | None) -> tuple[Index, bytes, DebugStore, Cache]:
    """One file's index, bytes, debug information and cache, which is read where it can be."""
    data = read_file(path)
    cache = Cache(folder, file_sha256(data))

    def debug_store(image: Image, anchors: Anchors) -> DebugStore:
        return DebugStore(image, data, anchors, cache)

    stored = cache.load("index")
    if stored is not None:
        index = index_from_json(path, stored)
    else:
        index = read_index(path, data, debug_store)
        cache.store("index", index_to_json(index))
    return index, data, debug_store(index.image, index.anchors()), cache
