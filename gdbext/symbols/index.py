# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of an ELF file right after opening it: image, functions, marks; and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from gdbext.errors import SymbolError
from gdbext.symbols.demangling import demangle
from gdbext.symbols.dwarf import Anchors
from gdbext.symbols.image import Image, Section, Segment, open_elf, read_image
from gdbext.symbols.intervals import Intervals
from gdbext.symbols.model import Function
from gdbext.symbols.symtab import Mark, SymbolTable, mapping_kind, read_symbol_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from gdbext.symbols.dwarf import Subprogram, Unit
    from gdbext.symbols.sources import DebugReader
    from gdbext.symbols.symtab import RawFunction

# Bytes of the usual fillers between functions: zeros, erased flash, no-operation instructions.
_FILLERS = frozenset(bytes.fromhex("00ff90ccbf46c0f3af80e1a0e320f0d5031f13010f662e404484"))
_LONGEST_FILLER = 15


@dataclass(frozen=True)
class Index:
    """Everything that needs no look-up in debug information."""

    image: Image
    functions: tuple[Function, ...]  # by address
    unsized: frozenset[int]  # functions whose size is only what lies up to the next symbol
    marks: tuple[Mark, ...]
    labels: dict[int, str]
    data_starts: tuple[int, ...]
    zero_names: tuple[str, ...] | None  # raw names of the function at 0; None: no symbol table
    stripped: bool
    notes: tuple[str, ...]  # why functions may be missing

    def anchors(self) -> Anchors:
        """What the symbols say about where code begins and ends."""
        named = (f for f in self.functions if f.origin == "symtab")
        return _anchors(self.image, self.zero_names, named)


def read_index(
    path: Path, data: bytes, debug_reader: Callable[[Image, Anchors], DebugReader]
) -> Index:
    """Read an ELF file; `debug_reader` is asked only for code that no symbol covers."""
    elf = open_elf(path, data)
    image = read_image(path, data, elf)
    table = read_symbol_table(path, data, elf, image)
    at_zero = next((f.names for f in table.functions if f.address == 0), ())
    zero_names = at_zero if table.present else None
    functions = [_named(raw) for raw in table.functions]
    notes: tuple[str, ...] = ()
    gaps = list(_gaps(image, data, table, functions))
    if gaps:
        reader = debug_reader(image, _anchors(image, zero_names, functions))
        try:
            bare = _unnamed(reader, gaps)
        except SymbolError as error:  # the symbol table still serves
            bare = []
            notes = (str(error),)
        functions += [_described(s, image, table) for s in bare]
        functions.sort(key=lambda f: f.address)
    return Index(
        image=image,
        functions=tuple(functions),
        unsized=frozenset(raw.address for raw in table.functions if not raw.sized),
        marks=tuple(table.marks),
        labels=table.labels,
        data_starts=tuple(table.data_starts),
        zero_names=zero_names,
        stripped=not table.present,
        notes=notes,
    )


def index_to_json(index: Index) -> dict[str, Any]:
    """The index as plain values."""
    image = asdict(index.image)
    del image["path"]
    functions = [
        [f.name, f.raw_name, f.address, f.size, f.aliases, f.origin, f.mode]
        for f in index.functions
    ]
    return {
        "image": image,
        "functions": functions,
        "unsized": sorted(index.unsized),
        "marks": index.marks,
        "labels": sorted(index.labels.items()),
        "data_starts": index.data_starts,
        "zero_names": index.zero_names,
        "stripped": index.stripped,
        "notes": index.notes,
    }


def index_from_json(path: Path, value: dict[str, Any]) -> Index:
    """The index again, for the ELF file that is now at `path`."""
    image = dict(value["image"])
    image["segments"] = tuple(Segment(*fields) for fields in image["segments"])
    image["sections"] = tuple(Section(*fields) for fields in image["sections"])
    zero_names = value["zero_names"]
    return Index(
        image=Image(path=path, **image),
        functions=tuple(
            Function(name, raw_name, address, size, tuple(aliases), origin, mode)
            for name, raw_name, address, size, aliases, origin, mode in value["functions"]
        ),
        unsized=frozenset(value["unsized"]),
        marks=tuple(Mark(*fields) for fields in value["marks"]),
        labels=dict(value["labels"]),
        data_starts=tuple(value["data_starts"]),
        zero_names=None if zero_names is None else tuple(zero_names),
        stripped=value["stripped"],
        notes=tuple(value["notes"]),
    )


def _anchors(
    image: Image, zero_names: tuple[str, ...] | None, functions: Iterable[Function]
) -> Anchors:
    ends = {high for _, high in image.executable_ranges()}
    return Anchors(zero_names, sorted(ends | {f.address for f in functions}))


def _named(raw: RawFunction) -> Function:
    name, *others = raw.names
    return Function(
        name=demangle(name),
        raw_name=name,
        address=raw.address,
        size=raw.size,
        aliases=tuple(demangle(other) for other in others),
        mode=raw.mode,
    )


def _gaps(
    image: Image, data: bytes, table: SymbolTable, functions: list[Function]
) -> Iterator[tuple[int, int]]:
    """Code that no function covers and that is more than a filler."""
    for low, high in image.executable_ranges():
        at = low
        inside = [f for f in functions if low <= f.address < high]
        for start, end in [*((f.address, f.end) for f in inside), (high, high)]:
            if at < start and mapping_kind(table.marks, image.sections, at) != "d":
                content = image.read(data, at, start - at) or b""
                if len(content) > _LONGEST_FILLER or not _FILLERS.issuperset(content):
                    yield at, start
            at = max(at, end)


def _unnamed(reader: DebugReader, gaps: list[tuple[int, int]]) -> list[Subprogram]:
    places = Intervals(gaps)
    found: dict[int, Subprogram] = {}
    for unit in reader.units():
        if any(_touches(unit, gap) for gap in gaps):
            for subprogram in reader.code(unit).subprograms:
                if places.first(subprogram.start) is not None:
                    found.setdefault(subprogram.start, subprogram)
    return list(found.values())


def _touches(unit: Unit, gap: tuple[int, int]) -> bool:
    return any(low < gap[1] and gap[0] < high for low, high in unit.ranges)


def _described(subprogram: Subprogram, image: Image, table: SymbolTable) -> Function:
    raw_name = subprogram.name or f"sub_{subprogram.start:x}"
    if subprogram.part:
        raw_name += ".cold" if subprogram.part == 1 else f".cold.{subprogram.part - 1}"
    kind = mapping_kind(table.marks, image.sections, subprogram.start)
    thumb = image.machine == "arm" and (kind == "t" or (kind is None and bool(image.m_profile)))
    function = Function(
        name=demangle(raw_name),
        raw_name=raw_name,
        address=subprogram.start,
        size=subprogram.end - subprogram.start,
        origin="dwarf",
    )
    if image.machine != "arm" or (kind is None and not thumb):
        return function
    return replace(function, mode="thumb" if thumb else "arm")
