# SPDX-License-Identifier: GPL-2.0-or-later
"""Compile units of the debug information, and what one unit says, read when it is asked for."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from gdbext.symbols.dies import code_entries
from gdbext.symbols.headers import SHF_COMPRESSED, section_headers
from gdbext.symbols.image import Image, reading
from gdbext.symbols.lines import Row, file_names, sequences

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DWARFInfo
    from elftools.elf.elffile import ELFFile

_ELFCOMPRESS_ZLIB = 1
_LONGEST_FILLER = 16
_ASSEMBLER = (0x8001,)  # DW_LANG_Mips_Assembler, which all assemblers use


class Unit(NamedTuple):
    """A compile unit: its place in `.debug_info`, source file, and code ranges as it claims them.

    The ranges may hold those of discarded sections that count from 0. `placed` is False where the
    unit states no range at all, as old assemblers do.
    """

    offset: int
    name: str
    directory: str
    language: int
    ranges: tuple[tuple[int, int], ...]
    split: bool
    placed: bool


class Subprogram(NamedTuple):
    """Code [start, end) of a function and its raw name; `part` is 0 where it is entered.

    `decl_file` (file number) and `decl_line` are where the source names it; 0: not said.
    Compilers put code that hardly runs into further parts, with the same `die` (offset of the entry
    in `.debug_info`).
    """

    start: int
    end: int
    name: str
    part: int
    die: int
    decl_file: int
    decl_line: int


class Inlined(NamedTuple):
    """Code [start, end) of a function inlined at `call_file` (file number) and `call_line`.

    All code of one inlining has the same `die` (offset of the entry in `.debug_info`).
    """

    start: int
    end: int
    depth: int
    name: str
    call_file: int
    call_line: int
    die: int


@dataclass(frozen=True)
class Anchors:
    """What the symbol table says about where code begins and ends."""

    zero_names: tuple[str, ...] | None  # raw names of the function at 0; None: no symbol table
    boundaries: list[int]  # sorted starts of functions and ends of sections

    def is_boundary(self, end: int) -> bool:
        """Whether code that ends at `end` is followed by a boundary, a short filler aside."""
        at = bisect_left(self.boundaries, end)
        return at < len(self.boundaries) and self.boundaries[at] - end < _LONGEST_FILLER


@dataclass
class UnitLines:
    """The line rows of one unit, of code that is in the image."""

    files: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)  # sorted by start


@dataclass
class UnitCode:
    """The functions and the inlined code of one unit, of code that is in the image."""

    subprograms: list[Subprogram] = field(default_factory=list)  # sorted by start
    inlined: list[Inlined] = field(default_factory=list)  # sorted by start, then depth


class DebugInfo:
    """Reads the compile units of one ELF file."""

    def __init__(
        self,
        path: Path,
        data: bytes,
        elf: ELFFile,
        image: Image,
        anchors: Anchors,
    ) -> None:
        """`anchors` tell discarded code from what is really at address 0."""
        self._path = path
        self._image = image
        self._anchors = anchors
        self._described: set[int] = set()  # units with entries for functions, discarded or not
        self._zero_claims = 0
        self._code_ranges = image.executable_ranges()
        self._codes: dict[int, UnitCode] = {}
        self._contents: dict[str, bytes] = {}
        self.notes: list[str] = []  # what cannot be read, without the file's name
        with reading(path, "debug information"):
            self._dwarf = self._open(elf, data)

    def units(self) -> list[Unit]:
        """All compile units, in the file's order."""
        if self._dwarf is None:
            return []
        with reading(self._path, ".debug_info"):
            found = [
                self._unit(cu)
                for cu in self._dwarf.iter_CUs()
                if cu.get_top_DIE().tag in ("DW_TAG_compile_unit", "DW_TAG_skeleton_unit")
            ]
        self._zero_claims = sum(any(low == 0 for low, _ in unit.ranges) for unit in found)
        split = sum(unit.split for unit in found)
        if split:
            self.notes.append(
                f"split DWARF: inlined functions of {split} compile units are in "
                ".dwo files, which are not read"
            )
        return found

    def lines(self, unit: Unit) -> UnitLines:
        """Run the line program of one unit, without the sequences of discarded sections."""
        assert self._dwarf is not None
        with self._reading(".debug_line", unit):
            cu = self._dwarf.get_CU_at(unit.offset)
            program = self._dwarf.line_program_for_CU(cu)
            if program is None:
                return UnitLines()
            found = UnitLines(file_names(program, unit.directory))
            data = self._section(self._dwarf.debug_line_sec)
            order = self._image.little_endian
            for sequence in sequences(program, data, cu["address_size"], order):
                if self._is_code(sequence.start, sequence.end) and (
                    sequence.start or self._owns_zero(unit, sequence.end)
                ):
                    found.rows += sequence.rows
        found.rows.sort(key=lambda row: row.start)
        return found

    def code(self, unit: Unit) -> UnitCode:
        """Read the functions and inlined code of one unit, without those of discarded sections."""
        code = self._codes.get(unit.offset)
        if code is None:
            with self._reading(".debug_info", unit):
                code = self._codes[unit.offset] = self._read_code(unit)
        return code

    def _reading(self, section: str, unit: Unit) -> AbstractContextManager[None]:
        return reading(self._path, f"{section}: unit at {unit.offset:#x} ({unit.name})")

    def _section(self, section: DebugSectionDescriptor | None) -> bytes:
        assert section is not None
        data = self._contents.get(section.name)
        if data is None:
            section.stream.seek(0)
            data = self._contents[section.name] = section.stream.read()
        return data

    def _open(self, elf: ELFFile, data: bytes) -> DWARFInfo | None:
        headers = section_headers(self._path, data, elf)
        parts = [h for h in headers if h.name.startswith((".debug_", ".zdebug_"))]
        if not any(h.name in (".debug_info", ".zdebug_info") for h in parts):
            return None
        order = "little" if elf.little_endian else "big"
        for header in parts:
            if header.flags & SHF_COMPRESSED:
                kind = int.from_bytes(header.content(self._path, data)[:4], order)  # type: ignore[arg-type]
                if kind != _ELFCOMPRESS_ZLIB:
                    name = {2: "zstd"}.get(kind, f"type {kind}")
                    self.notes.append(
                        f"{header.name} is compressed with {name}, which is not read here; run "
                        "objcopy --decompress-debug-sections on a copy"
                    )
                    return None
        return elf.get_dwarf_info(follow_links=False)

    def _unit(self, cu: CompileUnit) -> Unit:
        top = cu.get_top_DIE()
        attributes = top.attributes
        language = attributes["DW_AT_language"].value if "DW_AT_language" in attributes else 0
        return Unit(
            offset=cu.cu_offset,
            name=_string(top, "DW_AT_name"),
            directory=_string(top, "DW_AT_comp_dir"),
            language=int(language),
            ranges=tuple(self._ranges(top, cu)),
            placed=not {"DW_AT_low_pc", "DW_AT_ranges"}.isdisjoint(attributes),
            split="DW_AT_GNU_dwo_name" in attributes
            or "DW_AT_dwo_name" in attributes
            or cu.header.get("unit_type") == "DW_UT_skeleton",
        )

    def _ranges(self, die: DIE, cu: CompileUnit) -> Iterator[tuple[int, int]]:
        attributes = die.attributes
        if "DW_AT_ranges" in attributes:
            from elftools.dwarf.ranges import BaseAddressEntry

            lists = self._dwarf.range_lists() if self._dwarf else None
            if lists is None:
                return
            place = attributes["DW_AT_ranges"]
            base = cu.get_top_DIE().attributes
            start = int(base["DW_AT_low_pc"].value) if "DW_AT_low_pc" in base else 0
            for entry in lists.get_range_list_at_offset(place.value, cu=cu):
                if isinstance(entry, BaseAddressEntry):
                    start = entry.base_address
                    continue
                offset = 0 if entry.is_absolute else start
                low, high = entry.begin_offset + offset, entry.end_offset + offset
                if low < high and self._is_code(low, high):
                    yield low, high
        elif "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
            low = int(attributes["DW_AT_low_pc"].value)
            high = attributes["DW_AT_high_pc"]
            end = int(high.value) + (0 if high.form == "DW_FORM_addr" else low)
            if high.form.startswith("DW_FORM_addrx"):
                end = int(high.value)
            if low < end and self._is_code(low, end):
                yield low, end

    def _is_code(self, start: int, end: int) -> bool:
        return any(low <= start and end <= high for low, high in self._code_ranges)

    def _owns_zero(self, unit: Unit, end: int) -> bool:
        """Whether a unit's lines for [0, end) are of code that is really there.

        The addresses of discarded sections count from 0 too. What is at 0 belongs to a symbol: the
        unit must have a function at 0 with that name. Assembler without types has no entries for
        functions: its code must end where a symbol or section does. Without symbols, only a unit
        that is alone with its claim has it.
        """
        if self._anchors.zero_names is None:
            return self._zero_claims <= 1
        if any(s.start == 0 for s in self.code(unit).subprograms):
            return True
        return (
            unit.language in _ASSEMBLER
            and unit.offset not in self._described
            and bool(self._anchors.zero_names)
            and self._anchors.is_boundary(end)
        )

    def _is_at_zero(self, name: str) -> bool:
        if self._anchors.zero_names is None:
            return self._zero_claims <= 1
        return name in self._anchors.zero_names

    def _read_code(self, unit: Unit) -> UnitCode:
        code = UnitCode()
        if unit.split or self._dwarf is None:
            return code
        cu = self._dwarf.get_CU_at(unit.offset)
        data = self._section(self._dwarf.debug_info_sec)
        holder_is_dead = False
        for entry in code_entries(cu, data, self._image.little_endian):
            die = cu.get_DIE_from_refaddr(entry.offset)
            ranges = list(self._ranges(die, cu))
            name = self._name(die) if ranges else ""
            if not entry.inlined:
                self._described.add(unit.offset)
                holder_is_dead = not ranges or (ranges[0][0] == 0 and not self._is_at_zero(name))
                if not holder_is_dead:
                    declared = self._declared(die)
                    code.subprograms += [
                        Subprogram(start, end, name, part, entry.offset, *declared)
                        for part, (start, end) in enumerate(ranges)
                    ]
            elif not holder_is_dead:
                file, line = _number(die, "DW_AT_call_file"), _number(die, "DW_AT_call_line")
                code.inlined += [
                    Inlined(start, end, entry.depth, name, file, line, entry.offset)
                    for start, end in ranges
                ]
        code.subprograms.sort()
        code.inlined.sort(key=lambda inlined: (inlined.start, inlined.depth))
        return code

    def _declared(self, die: DIE) -> tuple[int, int]:
        """File number and line where a function is declared; of each, the nearest that is said."""
        file = line = 0
        for origin in _origins(die):
            file = file or _number(origin, "DW_AT_decl_file")
            line = line or _number(origin, "DW_AT_decl_line")
            if origin.cu is not die.cu:
                return 0, 0  # numbers of another unit's files
        return file, line

    def _name(self, die: DIE) -> str:
        """The linkage name, else the plain one, of a DIE or of what it is an instance of."""
        plain = ""
        for origin in _origins(die):
            for key in ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name"):
                if key in origin.attributes:
                    return _string(origin, key)
            plain = plain or _string(origin, "DW_AT_name")
        return plain


def _origins(die: DIE) -> Iterator[DIE]:
    """An entry, and those that it is an instance of."""
    for _ in range(8):
        yield die
        for key in ("DW_AT_abstract_origin", "DW_AT_specification"):
            if key in die.attributes:
                die = die.get_DIE_from_attribute(key)
                break
        else:
            return


def _string(die: DIE, key: str) -> str:
    if key not in die.attributes:
        return ""
    value: Any = die.attributes[key].value
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _number(die: DIE, key: str) -> int:
    return int(die.attributes[key].value) if key in die.attributes else 0
