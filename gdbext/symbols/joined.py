# SPDX-License-Identifier: GPL-2.0-or-later
"""Several ELF files in one memory as if they were one: a bootloader and its application, say."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from gdbext.errors import SymbolError
from gdbext.symbols.dwarf import UnitCode, UnitLines
from gdbext.symbols.index import Index
from gdbext.symbols.symtab import Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdbext.symbols.dwarf import Unit
    from gdbext.symbols.image import Image
    from gdbext.symbols.model import Function
    from gdbext.symbols.sources import DebugReader

__all__ = ["JoinedDebug", "Part", "join"]

_FILE_SHIFT: Final = 48
"""Offsets in `.debug_info` are told apart by the number of their file above this bit."""


@dataclass(frozen=True)
class Part:
    """One file, and how far from its link addresses it lies."""

    index: Index
    data: bytes
    debug: DebugReader
    bias: int
    """Address in memory minus link address."""


def join(parts: Sequence[Part]) -> tuple[Index, bytes, JoinedDebug]:
    """One index, the files' bytes one after the other, and one reader of debug information.

    What identifies the whole (path, hash, entry) is that of the first.

    Raises:
        SymbolError: two files are for different machines, or have code at the same addresses.
    """
    first = parts[0].index
    for part in parts[1:]:
        _check_fits(first.image, part.index.image)
    _check_disjoint(parts)
    segments, sections, offset = [], [], 0
    for number, part in enumerate(parts):
        image = part.index.image
        segments += [
            s._replace(address=s.address + part.bias, offset=s.offset + offset)
            for s in image.segments
        ]
        sections += [
            s._replace(address=s.address + part.bias, number=s.number + (number << 20))
            for s in image.sections
        ]
        offset += len(part.data)
    joined = Index(
        image=replace(first.image, segments=tuple(segments), sections=tuple(sections)),
        functions=tuple(sorted(_functions(parts), key=lambda f: f.address)),
        unsized=frozenset(a + p.bias for p in parts for a in p.index.unsized),
        marks=tuple(sorted(Mark(m.address + p.bias, m.kind) for p in parts for m in p.index.marks)),
        labels={a + p.bias: name for p in reversed(parts) for a, name in p.index.labels.items()},
        data_starts=tuple(sorted(a + p.bias for p in parts for a in p.index.data_starts)),
        zero_names=first.zero_names,
        stripped=any(part.index.stripped for part in parts),
        notes=tuple(note for part in parts for note in part.index.notes),
    )
    return joined, b"".join(part.data for part in parts), JoinedDebug(parts)


class JoinedDebug:
    """The compile units of all files, by address in memory."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    @property
    def notes(self) -> list[str]:
        """What could not be read, of all files."""
        return [note for part in self._parts for note in part.debug.notes]

    def units(self) -> list[Unit]:
        """All compile units; their offsets say which file they are of."""
        return [
            unit._replace(
                offset=unit.offset | number << _FILE_SHIFT,
                ranges=tuple((low + part.bias, high + part.bias) for low, high in unit.ranges),
            )
            for number, part in enumerate(self._parts)
            for unit in part.debug.units()
        ]

    def lines(self, unit: Unit) -> UnitLines:
        """The line rows of one unit."""
        part, own = self._own(unit)
        lines = part.debug.lines(own)
        if not part.bias:
            return lines
        moved = [r._replace(start=r.start + part.bias, end=r.end + part.bias) for r in lines.rows]
        return UnitLines(lines.files, moved)

    def code(self, unit: Unit) -> UnitCode:
        """The functions and the inlined code of one unit."""
        part, own = self._own(unit)
        code = part.debug.code(own)
        bias, file = part.bias, unit.offset >> _FILE_SHIFT << _FILE_SHIFT
        return UnitCode(
            [
                s._replace(start=s.start + bias, end=s.end + bias, die=s.die | file)
                for s in code.subprograms
            ],
            [
                i._replace(start=i.start + bias, end=i.end + bias, die=i.die | file)
                for i in code.inlined
            ],
        )

    def _own(self, unit: Unit) -> tuple[Part, Unit]:
        """The file that a unit is of, and the unit as that file has it."""
        part = self._parts[unit.offset >> _FILE_SHIFT]
        ranges = tuple((low - part.bias, high - part.bias) for low, high in unit.ranges)
        offset = unit.offset & ((1 << _FILE_SHIFT) - 1)
        return part, unit._replace(offset=offset, ranges=ranges)


def _functions(parts: Sequence[Part]) -> Iterable[Function]:
    for part in parts:
        for function in part.index.functions:
            yield replace(function, address=function.address + part.bias)


def _check_fits(first: Image, other: Image) -> None:
    for what in ("machine", "bits", "little_endian"):
        if getattr(first, what) != getattr(other, what):
            raise SymbolError(
                f"{other.path}: for {other.machine}, {other.bits} bits, "
                f"{'little' if other.little_endian else 'big'} endian: cannot run beside "
                f"{first.path}"
            )


def _check_disjoint(parts: Sequence[Part]) -> None:
    ranges = sorted(
        (low + part.bias, high + part.bias, str(part.index.image.path))
        for part in parts
        for low, high in part.index.image.executable_ranges()
        if low < high
    )
    for (low, high, path), (next_low, _, next_path) in itertools.pairwise(ranges):
        if next_low < high and path != next_path:
            raise SymbolError(
                f"{next_path}: has code at {next_low:#x}, where {path} has its own "
                f"({low:#x} to {high:#x}); give the address that it is loaded at as FILE@ADDRESS"
            )
