# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions and instruction-set marks out of the ELF symbol table.

Which symbols are functions:

- typed ones (STT_FUNC, STT_GNU_IFUNC) that are defined;
- untyped ones in executable sections, as hand-written assembler leaves them, unless they lie
  inside a sized function or in data (a mapping symbol `$d`). A *local* untyped symbol is a mere
  label when a global or typed one precedes it in its section: it is kept apart, because a call to
  it makes it a function.

One address is one function. Its name is the best of all there: typed before untyped, then global
before weak before local, then fewest leading underscores, shortest, alphabetic. The others are
aliases. A function without size reaches to the next function, data symbol or section end.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from gdbext.errors import SymbolError
from gdbext.symbols.headers import SHT_DYNSYM, SHT_SYMTAB, SectionHeader, section_headers
from gdbext.symbols.image import Image, Section, reading
from gdbext.symbols.intervals import Intervals
from gdbext.symbols.model import Mode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from elftools.elf.elffile import ELFFile

_STT_NOTYPE, _STT_OBJECT, _STT_FUNC, _STT_SECTION, _STT_FILE, _STT_IFUNC = 0, 1, 2, 3, 4, 10
_STB_LOCAL, _STB_GLOBAL, _STB_WEAK, _STB_UNIQUE = 0, 1, 2, 10
_SHN_UNDEF, _SHN_LORESERVE, _SHN_ABS = 0, 0xFF00, 0xFFF1
_MAPPING = re.compile(r"\$([atdx])(?:\.|$)|\$(x)rv")
_BINDING_RANK = {_STB_GLOBAL: 0, _STB_UNIQUE: 0, _STB_WEAK: 1, _STB_LOCAL: 2}


class RawSymbol(NamedTuple):
    """One entry of the symbol table, `section` a section number or a reserved one."""

    name: str
    value: int
    size: int
    kind: int
    binding: int
    section: int


class RawFunction(NamedTuple):
    """A function before its names are demangled; `mode` is 'arm', 'thumb' or None."""

    names: tuple[str, ...]  # best first
    address: int
    size: int
    sized: bool  # the symbol says so; else the size is what lies up to the next symbol
    mode: Mode | None


class Mark(NamedTuple):
    """From `address` on, to the next mark or the section's end, memory holds `kind`."""

    address: int
    kind: str  # 'a', 't', 'd' or 'x', the letter of the mapping symbol


@dataclass
class SymbolTable:
    """What the symbol table says about code."""

    functions: list[RawFunction] = field(default_factory=list)  # sorted by address
    marks: list[Mark] = field(default_factory=list)  # sorted by address
    labels: dict[int, str] = field(default_factory=dict)  # untyped local symbols in code
    data_starts: list[int] = field(default_factory=list)  # objects in executable sections
    present: bool = False  # False: the file is stripped


def read_symbol_table(path: Path, data: bytes, elf: ELFFile, image: Image) -> SymbolTable:
    """Read `.symtab` (or `.dynsym` when that is all there is)."""
    table = SymbolTable()
    with reading(path, "symbol table"):
        headers = section_headers(path, data, elf)
        section = next((h for h in headers if h.kind == SHT_SYMTAB), None)
        table.present = section is not None
        section = section or next((h for h in headers if h.kind == SHT_DYNSYM), None)
        if section is None:
            return table
        symbols = list(_raw_symbols(path, data, elf, section, headers))
    _sort_out(table, symbols, image)
    return table


def read_objects(path: Path, data: bytes, elf: ELFFile) -> list[RawSymbol]:
    """Data objects that have a size, by address.

    Raises:
        SymbolError: the file is damaged.
    """
    with reading(path, "symbol table"):
        headers = section_headers(path, data, elf)
        section = next((h for h in headers if h.kind == SHT_SYMTAB), None)
        if section is None:
            return []
        symbols = _raw_symbols(path, data, elf, section, headers)
        objects = [s for s in symbols if s.kind == _STT_OBJECT and s.size]
    return sorted(objects, key=lambda s: (s.value, s.name))


def mapping_kind(marks: Sequence[Mark], sections: Sequence[Section], address: int) -> str | None:
    """The mapping symbol's letter that holds at `address`, None where none does."""
    index = bisect_right(marks, address, key=lambda mark: mark.address) - 1
    if index < 0:
        return None
    mark = marks[index]
    for section in sections:
        if section.address <= address < section.address + section.size:
            return mark.kind if mark.address >= section.address else None
    return None


def _raw_symbols(
    path: Path, data: bytes, elf: ELFFile, section: SectionHeader, headers: list[SectionHeader]
) -> Iterator[RawSymbol]:
    order = "<" if elf.little_endian else ">"
    layout = struct.Struct(order + ("IIIBBH" if elf.elfclass == 32 else "IBBHQQ"))
    content = section.content(path, data)
    if section.entry_size != layout.size:
        raise SymbolError(
            f"{path}: section {section.name}: entries of {section.entry_size} bytes, "
            f"expected {layout.size}"
        )
    if section.link >= len(headers):
        raise SymbolError(
            f"{path}: section {section.name}: its names are in section {section.link}, "
            f"the file has {len(headers)} sections"
        )
    strings = headers[section.link].content(path, data)
    for entry in layout.iter_unpack(content[: len(content) // layout.size * layout.size]):
        if elf.elfclass == 32:
            name_at, value, length, info, _, where = entry
        else:
            name_at, info, _, where, value, length = entry
        if not name_at:
            continue
        text = strings[name_at : strings.find(b"\0", name_at)].decode("utf-8", "backslashreplace")
        yield RawSymbol(text, value, length, info & 15, info >> 4, where)


def _sort_out(table: SymbolTable, symbols: Iterable[RawSymbol], image: Image) -> None:
    code = {section.number: section for section in image.sections if section.executable}
    loaded = {section.number for section in image.sections}
    thumb_bit = 1 if image.machine == "arm" else 0
    marks: dict[int, str] = {}
    typed: list[RawSymbol] = []
    untyped: list[RawSymbol] = []
    for symbol in symbols:
        if symbol.section == _SHN_UNDEF:
            continue
        mapping = _MAPPING.match(symbol.name) if symbol.name.startswith("$") else None
        if mapping:
            if symbol.section in loaded:  # those of .debug_frame count from 0
                marks[symbol.value & ~thumb_bit] = mapping[1] or mapping[2]
        elif symbol.kind in (_STT_FUNC, _STT_IFUNC):
            typed.append(symbol)
        elif symbol.section in code:
            section = code[symbol.section]
            inside = section.address <= symbol.value < section.address + section.size
            if symbol.kind == _STT_OBJECT:
                table.data_starts.append(symbol.value)
            elif symbol.kind == _STT_NOTYPE and inside and not symbol.name.startswith(".L"):
                untyped.append(symbol)
    table.marks = [Mark(address, kind) for address, kind in sorted(marks.items())]
    table.data_starts.sort()

    sized = sorted((s.value & ~thumb_bit, (s.value & ~thumb_bit) + s.size) for s in typed if s.size)
    bodies = Intervals(sized)
    anchors = {s.value & ~thumb_bit for s in typed}
    candidates = list(typed)
    labels: list[RawSymbol] = []
    for symbol in untyped:
        address = symbol.value & ~thumb_bit
        inner = next((i for i in bodies.covering(address) if bodies.starts[i] < address), None)
        if address not in anchors and (
            inner is not None or mapping_kind(table.marks, image.sections, address) == "d"
        ):
            continue
        if symbol.binding == _STB_LOCAL and address not in anchors:
            labels.append(symbol)
        else:
            candidates.append(symbol)
    candidates += _first_labels(labels, candidates, code, thumb_bit, table)
    table.functions = _fold(candidates, table, image, thumb_bit)


def _first_labels(
    labels: list[RawSymbol],
    candidates: list[RawSymbol],
    code: dict[int, Section],
    thumb_bit: int,
    table: SymbolTable,
) -> list[RawSymbol]:
    """Local untyped symbols with no function before them in their section; the rest are labels."""
    starts = sorted(s.value & ~thumb_bit for s in candidates)
    firsts = []
    for symbol in sorted(labels, key=lambda s: s.value):
        address = symbol.value & ~thumb_bit
        before = bisect_right(starts, address) - 1
        if before >= 0 and starts[before] >= code[symbol.section].address:
            table.labels.setdefault(address, symbol.name)
        else:
            firsts.append(symbol)
    return firsts


def _fold(
    candidates: list[RawSymbol], table: SymbolTable, image: Image, thumb_bit: int
) -> list[RawFunction]:
    def address_of(symbol: RawSymbol) -> int:
        return symbol.value & ~thumb_bit

    ordered = sorted(candidates, key=lambda s: (address_of(s), _rank(s)))
    groups = [(address, list(same)) for address, same in groupby(ordered, key=address_of)]
    starts = [address for address, _ in groups]
    functions = []
    for index, (address, same) in enumerate(groups):
        size = next((s.size for s in same if s.size), 0)
        if not size:
            limit = starts[index + 1] if index + 1 < len(starts) else None
            size = extent(address, limit, table.data_starts, image)
        names = tuple(dict.fromkeys(s.name for s in same))
        sized = any(s.size for s in same)
        mode = _mode(same[0], table, image, thumb_bit)
        functions.append(RawFunction(names, address, size, sized, mode))
    return functions


def _rank(symbol: RawSymbol) -> tuple[int, int, int, int, str]:
    name = symbol.name
    return (
        symbol.kind == _STT_NOTYPE,
        _BINDING_RANK.get(symbol.binding, 3),
        len(name) - len(name.lstrip("_")),
        len(name),
        name,
    )


def _mode(symbol: RawSymbol, table: SymbolTable, image: Image, thumb_bit: int) -> Mode | None:
    if not thumb_bit:
        return None
    if symbol.value & 1 or image.m_profile:
        return "thumb"
    mark = mapping_kind(table.marks, image.sections, symbol.value)
    if mark in ("a", "t"):
        return "thumb" if mark == "t" else "arm"
    return "arm" if symbol.kind == _STT_FUNC else None


def extent(address: int, limit: int | None, data_starts: Sequence[int], image: Image) -> int:
    """Bytes from `address` to `limit`, the next data symbol or the section end; 0: unknown."""
    end = next((high for low, high in image.executable_ranges() if low <= address < high), address)
    if limit is not None:
        end = min(end, limit)
    after = bisect_right(data_starts, address)
    if after < len(data_starts):
        end = min(end, data_starts[after])
    return end - address
