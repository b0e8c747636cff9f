# SPDX-License-Identifier: GPL-2.0-or-later
"""The section and program headers of an ELF file, one by one.

pyelftools builds an object for each section and refuses the whole file when one that nobody needs
is odd: Debian's U-Boot images have a `.hash` without a symbol table.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from gdbext.errors import SymbolError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from elftools.elf.elffile import ELFFile

SHT_SYMTAB, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM, SHT_ARM_ATTRIBUTES = 2, 7, 8, 11, 0x70000003
PT_LOAD, PT_NOTE, PF_X = 1, 4, 1
SHF_ALLOC, SHF_EXECINSTR, SHF_COMPRESSED = 2, 4, 0x800


class SectionHeader(NamedTuple):
    """One section header; `number` is its place in the file's table."""

    number: int
    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    entry_size: int

    def content(self, path: Path, data: bytes) -> bytes:
        """The section's bytes in the file.

        Raises:
            SymbolError: they reach beyond its end.
        """
        if self.kind == SHT_NOBITS:
            return b""
        if self.offset + self.size > len(data):
            raise SymbolError(
                f"{path}: section {self.name}: needs file bytes up to "
                f"{self.offset + self.size:#x}, the file ends at {len(data):#x}"
            )
        return data[self.offset : self.offset + self.size]


class ProgramHeader(NamedTuple):
    """One program header; `address` is the virtual one."""

    number: int
    kind: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int


def section_headers(path: Path, data: bytes, elf: ELFFile) -> list[SectionHeader]:
    """All section headers, in the file's order; the table lies inside the file."""
    rows = list(_rows(data, elf))
    if not rows:
        return []
    names_in = elf.get_shstrndx()
    if names_in == 0:
        names = b""
    elif names_in < len(rows):
        _, _, _, offset, size, _, _ = rows[names_in][1:]
        names = data[offset : offset + size]
    else:
        raise SymbolError(
            f"{path}: ELF header: section names are in section {names_in}, "
            f"the file has {len(rows)} sections"
        )
    return [
        SectionHeader(number, _text(names, name), *others)
        for number, (name, *others) in enumerate(rows)
    ]


def program_headers(data: bytes, elf: ELFFile) -> list[ProgramHeader]:
    """All program headers, in the file's order; the table lies inside the file."""
    order = "<" if elf.little_endian else ">"
    found = []
    for number in range(elf.num_segments()):
        place = elf["e_phoff"] + number * elf["e_phentsize"]
        if elf.elfclass == 32:
            kind, offset, address, _, file_size, memory_size, flags, _ = struct.unpack_from(
                order + "8I", data, place
            )
        else:
            kind, flags, offset, address, _, file_size, memory_size, _ = struct.unpack_from(
                order + "IIQQQQQQ", data, place
            )
        found.append(ProgramHeader(number, kind, flags, offset, address, file_size, memory_size))
    return found


def _rows(data: bytes, elf: ELFFile) -> Iterator[tuple[int, int, int, int, int, int, int, int]]:
    layout = struct.Struct(("<" if elf.little_endian else ">") + "IIQQQQIIQQ")
    if elf.elfclass == 32:
        layout = struct.Struct(("<" if elf.little_endian else ">") + "10I")
    for number in range(elf.num_sections()):
        fields = layout.unpack_from(data, elf["e_shoff"] + number * elf["e_shentsize"])
        name, kind, flags, address, offset, size, link, _, _, entry_size = fields
        yield name, kind, flags, address, offset, size, link, entry_size


def _text(names: bytes, at: int) -> str:
    return names[at : names.find(b"\0", at)].decode("utf-8", "backslashreplace")
