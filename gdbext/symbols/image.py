# SPDX-License-Identifier: GPL-2.0-or-later
"""What an ELF file is and which bytes it puts in memory: header, segments, sections, build ID."""

from __future__ import annotations

import hashlib
import io
import struct
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gdbext.errors import SymbolError
from gdbext.symbols.headers import (
    PF_X,
    PT_LOAD,
    PT_NOTE,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_ARM_ATTRIBUTES,
    SHT_NOBITS,
    SHT_NOTE,
    ProgramHeader,
    SectionHeader,
    program_headers,
    section_headers,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from elftools.elf.elffile import ELFFile

MACHINES = {
    "EM_ARM": "arm",
    "EM_AARCH64": "aarch64",
    "EM_RISCV": "riscv",
    "EM_386": "x86",
    "EM_X86_64": "x86_64",
}
_NT_GNU_BUILD_ID = 3


class Segment(NamedTuple):
    """File bytes [offset, offset + file_size) that are loaded at virtual `address`."""

    address: int
    file_size: int
    memory_size: int
    offset: int
    executable: bool


class Section(NamedTuple):
    """An allocated section [address, address + size); `number` is its place in the file."""

    number: int
    name: str
    address: int
    size: int
    executable: bool


@dataclass(frozen=True)
class Image:
    """The parts of an ELF file that tell what is where in memory (link addresses)."""

    path: Path
    sha256: str
    build_id: str | None
    machine: str
    bits: int
    little_endian: bool
    entry: int
    m_profile: bool | None  # Arm: built for Cortex-M; None where the file does not say
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...]

    def executable_ranges(self) -> list[tuple[int, int]]:
        """Sorted address ranges that hold code: executable sections, else segments."""
        ranges = [(s.address, s.address + s.size) for s in self.sections if s.executable]
        if not ranges:
            ranges = [(s.address, s.address + s.memory_size) for s in self.segments if s.executable]
        return sorted(ranges)

    @property
    def load_address(self) -> int:
        """Where the file's content begins: its lowest section that has bytes in the file."""
        loaded = [(s.address, s.address + s.file_size) for s in self.segments if s.file_size]
        inside = [s.address for s in self.sections if any(a <= s.address < b for a, b in loaded)]
        return min(inside or [low for low, _ in loaded], default=0)

    def read(self, data: bytes, address: int, size: int) -> bytes | None:
        """Bytes [address, address + size) as loaded, out of the file's `data`.

        None if any of them is not in the file (outside of it, or zero-filled memory).
        """
        for segment in self.segments:
            start = address - segment.address
            if start >= 0 and start + size <= segment.file_size:
                place = segment.offset + start
                return data[place : place + size]
        return None


def file_sha256(data: bytes) -> str:
    """Hex digest that identifies a file's content."""
    return hashlib.sha256(data).hexdigest()


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Turn what pyelftools raises on damaged input into one line that names file and part.

    pyelftools checks little: a wrong offset or count shows up as almost any built-in exception.
    """
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.construct import ConstructError

    damage = (
        ELFError, DWARFError, ConstructError, ArithmeticError, AssertionError, AttributeError,
        EOFError, LookupError, MemoryError, NotImplementedError, OSError, RecursionError,
        StopIteration, TypeError, ValueError, struct.error,
    )  # fmt: skip
    try:
        yield
    except damage as error:
        detail = " ".join(str(error).split()) or type(error).__name__
        raise SymbolError(f"{path}: {what}: damaged or cut short ({detail[:120]})") from error


def read_file(path: Path) -> bytes:
    """The whole file; a missing or unreadable one is a SymbolError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise SymbolError(f"{path}: {error.strerror or error}") from error


def open_elf(path: Path, data: bytes) -> ELFFile:
    """A pyelftools file over `data`, after the checks that need no section or segment."""
    if len(data) < 4 or data[:4] != b"\x7fELF":
        hint = "empty file" if not data else "no ELF magic number"
        raise SymbolError(f"{path}: offset 0: {hint}; give the linked ELF file, not a .bin or .hex")
    if len(data) < (64 if data[4:5] == b"\x02" else 52):
        raise SymbolError(f"{path}: ELF header: cut short, {len(data)} bytes in the file")
    with reading(path, "ELF header"):
        from elftools.elf.elffile import ELFFile

        return ELFFile(io.BytesIO(data))


def read_image(path: Path, data: bytes, elf: ELFFile) -> Image:
    """Check header and tables of an ELF file and keep what they say."""
    with reading(path, "ELF header"):
        _check_header(path, elf, len(data))
        machine = MACHINES.get(str(elf["e_machine"]))
        if machine is None:
            raise SymbolError(
                f"{path}: ELF header: machine {elf['e_machine']} is none that gdbext reads "
                f"({', '.join(MACHINES.values())})"
            )
    with reading(path, "section headers"):
        headers = section_headers(path, data, elf)
        _check_has_code(path, headers)
    with reading(path, "program headers"):
        programs = program_headers(data, elf)
        segments = tuple(_segments(path, programs, len(data)))
    sections = tuple(
        Section(h.number, h.name, h.address, h.size, bool(h.flags & SHF_EXECINSTR))
        for h in headers
        if h.flags & SHF_ALLOC and h.size
    )
    with reading(path, "build ID note"):
        build_id = _build_id(path, data, headers, programs, bool(elf.little_endian))
    with reading(path, "Arm attributes"):
        m_profile = _m_profile(elf, headers) if machine == "arm" else None
    entry = int(elf["e_entry"])
    return Image(
        path=path,
        sha256=file_sha256(data),
        build_id=build_id,
        machine=machine,
        bits=int(elf.elfclass),
        little_endian=bool(elf.little_endian),
        entry=entry & ~1 if machine == "arm" else entry,
        m_profile=m_profile,
        segments=segments,
        sections=sections,
    )


def _check_header(path: Path, elf: ELFFile, size: int) -> None:
    kind = elf["e_type"]
    if kind == "ET_REL":
        raise SymbolError(
            f"{path}: relocatable object, its addresses are not final; give the linked ELF file"
        )
    if kind == "ET_CORE":
        raise SymbolError(f"{path}: core dump; give the ELF file of the program")
    if kind not in ("ET_EXEC", "ET_DYN"):
        raise SymbolError(f"{path}: ELF header: file type {kind} is no program")
    for name, offset, count, each, least in (
        ("program headers", "e_phoff", "e_phnum", "e_phentsize", 32 if elf.elfclass == 32 else 56),
        ("section headers", "e_shoff", "e_shnum", "e_shentsize", 40 if elf.elfclass == 32 else 64),
    ):
        if not elf[offset] or not elf[count]:
            continue
        if elf[each] < least:
            raise SymbolError(f"{path}: ELF header: {each} is {elf[each]}, less than {least}")
        end = elf[offset] + elf[count] * elf[each]
        if end > size:
            raise SymbolError(
                f"{path}: {name}: need bytes up to {end:#x}, the file ends at {size:#x}"
            )
    if elf["e_shoff"] >= size and elf["e_shoff"]:
        raise SymbolError(f"{path}: section headers: at {elf['e_shoff']:#x}, beyond the file's end")


def _check_has_code(path: Path, headers: list[SectionHeader]) -> None:
    kinds = {header.kind for header in headers if header.flags & SHF_EXECINSTR and header.size}
    if kinds == {SHT_NOBITS}:
        raise SymbolError(
            f"{path}: debug information split off its program, without code; give the ELF file "
            "with the code (eu-unstrip joins the two)"
        )


def _segments(path: Path, headers: list[ProgramHeader], size: int) -> Iterator[Segment]:
    for header in headers:
        if header.kind != PT_LOAD:
            continue
        if header.offset + header.file_size > size:
            raise SymbolError(
                f"{path}: program header {header.number}: needs file bytes up to "
                f"{header.offset + header.file_size:#x}, the file ends at {size:#x}"
            )
        yield Segment(
            address=header.address,
            file_size=header.file_size,
            memory_size=header.memory_size,
            offset=header.offset,
            executable=bool(header.flags & PF_X),
        )


def _build_id(
    path: Path,
    data: bytes,
    sections: list[SectionHeader],
    programs: list[ProgramHeader],
    little_endian: bool,
) -> str | None:
    notes = [h.content(path, data) for h in sections if h.kind == SHT_NOTE]
    notes += [data[h.offset :][: h.file_size] for h in programs if h.kind == PT_NOTE]
    order = "<" if little_endian else ">"
    for note in notes:
        at = 0
        while at + 12 <= len(note):
            name_size, size, kind = struct.unpack_from(order + "III", note, at)
            start = at + 12 + (name_size + 3 & ~3)
            if kind == _NT_GNU_BUILD_ID and note[at + 12 : at + 16] == b"GNU\0":
                return note[start : start + size].hex()
            at = start + (size + 3 & ~3)
    return None


def _m_profile(elf: ELFFile, headers: list[SectionHeader]) -> bool | None:
    for header in headers:
        if header.kind == SHT_ARM_ATTRIBUTES:
            section: Any = elf.get_section(header.number)
            for part in section.iter_subsections():
                for scope in part.iter_subsubsections():
                    for attribute in scope.iter_attributes("TAG_CPU_ARCH_PROFILE"):
                        return int(attribute.value) == ord("M")
    return None
