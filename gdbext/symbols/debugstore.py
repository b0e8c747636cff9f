# SPDX-License-Identifier: GPL-2.0-or-later
"""Debug information as the cache holds it, else as the ELF file does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gdbext.collector import uncollected
from gdbext.symbols.dwarf import Anchors, DebugInfo, Inlined, Subprogram, Unit, UnitCode, UnitLines
from gdbext.symbols.image import open_elf
from gdbext.symbols.lines import Row

if TYPE_CHECKING:
    from gdbext.symbols.cache import Cache
    from gdbext.symbols.image import Image


class DebugStore:
    """Units, lines and code of one ELF file; opens the file's DWARF only for what is not stored."""

    def __init__(self, image: Image, data: bytes, anchors: Anchors, cache: Cache) -> None:
        self._image = image
        self._data = data
        self._anchors = anchors
        self._cache = cache
        self._debug: DebugInfo | None = None
        self._units: list[Unit] | None = None
        self.notes: list[str] = []

    @uncollected()
    def units(self) -> list[Unit]:
        """All compile units."""
        if self._units is None:
            stored = self._cache.load("units")
            if stored is None:
                debug = self._read()
                stored = {"units": debug.units(), "notes": debug.notes}
                self._cache.store("units", stored)
            self._units = [_unit(fields) for fields in stored["units"]]
            self.notes = [f"{self._image.path}: {note}" for note in stored["notes"]]
        return self._units

    @uncollected()
    def lines(self, unit: Unit) -> UnitLines:
        """The line rows of one unit."""
        part = f"lines-{unit.offset:x}"
        stored = self._cache.load(part)
        if stored is not None:
            return UnitLines(stored["files"], [Row(*fields) for fields in stored["rows"]])
        lines = self._read().lines(unit)
        self._cache.store(part, {"files": lines.files, "rows": lines.rows})
        return lines

    @uncollected()
    def code(self, unit: Unit) -> UnitCode:
        """The functions and inlined code of one unit."""
        part = f"code-{unit.offset:x}"
        stored = self._cache.load(part)
        if stored is not None:
            return UnitCode(
                [Subprogram(*fields) for fields in stored["subprograms"]],
                [Inlined(*fields) for fields in stored["inlined"]],
            )
        code = self._read().code(unit)
        self._cache.store(part, {"subprograms": code.subprograms, "inlined": code.inlined})
        return code

    def _read(self) -> DebugInfo:
        if self._debug is None:
            elf = open_elf(self._image.path, self._data)
            self._debug = DebugInfo(self._image.path, self._data, elf, self._image, self._anchors)
            self._debug.units()
        return self._debug


def _unit(fields: Any) -> Unit:
    offset, name, directory, language, ranges, *flags = fields
    return Unit(offset, name, directory, language, tuple((a, b) for a, b in ranges), *flags)
