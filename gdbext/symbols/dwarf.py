# SPDX-License-Identifier: GPL-2.0-or-later
"""Compile units of the debug information, and what one unit says, read when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from gdbext.symbols.image import Image, reading
from gdbext.symbols.lines import Row, Sequence, file_names, sequences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE
    from elftools.dwarf.dwarfinfo import DWARFInfo
    from elftools.elf.elffile import ELFFile

_ASSEMBLER = (0x8001,)  # DW_LANG_Mips_Assembler, which all assemblers use


class Unit(NamedTuple):
    """A compile unit: its place in `.debug_info`, source file, and code ranges as it claims them.

    The ranges may hold those of discarded sections; `ranges` is empty where the unit has none.
    """

    offset: int
    name: str
    directory: str
    language: int
    ranges: tuple[tuple[int, int], ...]
    split: bool


class Subprogram(NamedTuple):
    """A function's code range, raw name and declaration by a unit's DIEs."""

    start: int
    end: int
    name: str


class Inlined(NamedTuple):
    """Code [start, end) of a function inlined at `call_file` (file number) and `call_line`."""

    start: int
    end: int
    depth: int
    name: str
    call_file: int
    call_line: int


@dataclass
class UnitDetail:
    """Line rows, functions and inlined code of one unit; dead code is left out."""

    files: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)  # sorted by start
    subprograms: list[Subprogram] = field(default_factory=list)  # sorted by start
    inlined: list[Inlined] = field(default_factory=list)  # sorted by start, then depth


class DebugInfo:
    """Reads the compile units of one ELF file."""

    def __init__(
        self, path: Path, elf: ELFFile, image: Image, names_at: Callable[[int], tuple[str, ...]]
    ) -> None:
        """`names_at` gives the symbol table's raw names of the function at an address."""
        self._path = path
        self._image = image
        self._names_at = names_at
        self._code = image.executable_ranges()
        self.notes: list[str] = []
        with reading(path, "debug information"):
            self._dwarf = self._open(elf)

    def units(self) -> list[Unit]:
        """All compile units, in the file's order."""
        if self._dwarf is None:
            return []
        with reading(self._path, ".debug_info"):
            found = [self._unit(cu) for cu in self._dwarf.iter_CUs()]
        split = sum(unit.split for unit in found)
        if split:
            self.notes.append(
                f"{self._path}: split DWARF: inlined functions of {split} compile units are in "
                ".dwo files, which are not read"
            )
        return found

    def detail(self, unit: Unit) -> UnitDetail:
        """Decode the line program and the DIEs of one unit."""
        assert self._dwarf is not None
        detail = UnitDetail()
        with reading(self._path, f".debug_info: unit at {unit.offset:#x} ({unit.name})"):
            cu = self._dwarf.get_CU_at(unit.offset)
            if not unit.split:
                self._read_dies(cu, detail)
        with reading(self._path, f".debug_line: unit at {unit.offset:#x} ({unit.name})"):
            found = self._sequences(cu, unit, detail)
            for sequence in self._live(unit, detail, found):
                detail.rows += sequence.rows
        detail.rows.sort(key=lambda row: row.start)
        return detail

    def _open(self, elf: ELFFile) -> DWARFInfo | None:
        if not elf.has_dwarf_info(strict=True):
            return None
        for section in elf.iter_sections():
            if not section.name.startswith(".debug_") or not section.compressed:
                continue
            kind = getattr(section, "_compression_type", None)
            if kind != "ELFCOMPRESS_ZLIB":
                self.notes.append(
                    f"{self._path}: {section.name} is compressed in a way that is not read here "
                    f"({kind}); run objcopy --decompress-debug-sections on a copy"
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
        return any(low <= start and end <= high for low, high in self._code)

    def _sequences(self, cu: CompileUnit, unit: Unit, detail: UnitDetail) -> list[Sequence]:
        assert self._dwarf is not None
        program = self._dwarf.line_program_for_CU(cu)
        if program is None:
            return []
        detail.files = file_names(program, unit.directory)
        section = self._dwarf.debug_line_sec
        assert section is not None
        section.stream.seek(0)
        data = section.stream.read()
        size = cu["address_size"]
        return list(sequences(program, data, size, self._image.little_endian))

    def _live(self, unit: Unit, detail: UnitDetail, found: list[Sequence]) -> Iterator[Sequence]:
        """Leave out the sequences of sections that the linker threw away.

        Their addresses start from 0. Where code may be at 0, the sequence stays only if it
        belongs to a symbol there: the unit has a function at 0 of that name, or is assembler.
        """
        for sequence in found:
            if not self._is_code(sequence.start, sequence.end):
                continue
            if sequence.start == 0:
                names = self._names_at(0)
                own = any(s.start == 0 and s.name in names for s in detail.subprograms)
                if not own and (unit.language not in _ASSEMBLER or not names):
                    continue
            yield sequence

    def _read_dies(self, cu: CompileUnit, detail: UnitDetail) -> None:
        for die in cu.iter_DIEs():
            if die.is_null() or die.tag not in ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine"):
                continue
            ranges = list(self._ranges(die, cu))
            if not ranges:
                continue
            name = self._name(die)
            if die.tag == "DW_TAG_subprogram":
                for start, end in ranges:
                    if start == 0 and name not in self._names_at(0):
                        continue
                    detail.subprograms.append(Subprogram(start, end, name))
                continue
            level = 0
            parent = die.get_parent()
            while parent is not None and parent.tag != "DW_TAG_subprogram":
                level += parent.tag == "DW_TAG_inlined_subroutine"
                parent = parent.get_parent()
            for start, end in ranges:
                detail.inlined.append(
                    Inlined(start, end, level, name, _number(die, "DW_AT_call_file"),
                            _number(die, "DW_AT_call_line"))
                )  # fmt: skip
        detail.subprograms.sort()
        detail.inlined.sort(key=lambda i: (i.start, i.depth))

    def _name(self, die: DIE) -> str:
        """The linkage name, else the plain one, of a DIE or of what it is an instance of."""
        plain = ""
        for _ in range(8):
            for key in ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name"):
                if key in die.attributes:
                    return _string(die, key)
            plain = plain or _string(die, "DW_AT_name")
            for key in ("DW_AT_abstract_origin", "DW_AT_specification"):
                if key in die.attributes:
                    die = die.get_DIE_from_attribute(key)
                    break
            else:
                break
        return plain


def _string(die: DIE, key: str) -> str:
    if key not in die.attributes:
        return ""
    value: Any = die.attributes[key].value
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _number(die: DIE, key: str) -> int:
    return int(die.attributes[key].value) if key in die.attributes else 0
