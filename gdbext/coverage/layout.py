# SPDX-License-Identifier: GPL-2.0-or-later
"""What coverage needs to know of a program before it runs: its instructions, and whose they are.

It depends on the ELF file alone, so the cache of symbols keeps it. Instructions are *places*, 0 to
n, by address; arrays beside each other are columns of one table.
"""

from __future__ import annotations

import json
import sys
from array import array
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["LAYOUT_VERSION", "Layout", "Piece", "PlacedFunction", "lay_lines"]

LAYOUT_VERSION: Final = 2
"""Raise it when what is kept, or how it is worked out, changes."""


class Piece(NamedTuple):
    """Instructions [first, end) of one line row, as places; `own` is the first that no row before
    it has claimed: rows overlap where several functions were folded into one."""

    first: int
    own: int
    end: int
    column: int
    is_stmt: bool


class PlacedFunction(NamedTuple):
    """A function with the places of its code, and what the compiler moved out of it."""

    address: int
    file: int
    """Number in `Layout.files`; 0: no source file."""
    line: int
    """0: not known."""
    code: tuple[tuple[int, int], ...]
    """Half-open ranges of places."""


def _u32() -> array[int]:
    return array("I")


def _u64() -> array[int]:
    return array("Q")


@dataclass
class Layout:
    """The code of a program, by function and by source line."""

    files: list[str] = field(default_factory=list)
    """Paths as the debug information has them, without `.` and `..`; the first is empty, for code
    that no file holds."""

    # Instructions, by place.
    addresses: array[int] = field(default_factory=_u64)
    sizes: bytes = b""
    copies: array[int] = field(default_factory=lambda: array("q"))
    """A number that only the code of one copy of its source shares: one function's is even or
    negative, one inlining's is odd."""

    # Places of instructions, ascending.
    branches: array[int] = field(default_factory=_u32)
    """Conditional branches, calls and returns with a condition."""
    targets: array[int] = field(default_factory=_u64)
    """Of each of `branches`: where it goes, or NO_TARGET."""
    effects: array[int] = field(default_factory=_u32)
    """Of `branches`, the calls and returns."""
    predicated: array[int] = field(default_factory=_u32)
    """Other instructions that take effect only if a condition holds."""
    selects: array[int] = field(default_factory=_u32)
    """Instructions that choose between values by a condition."""

    # What was read as code: address ranges [low, high).
    low: array[int] = field(default_factory=_u64)
    high: array[int] = field(default_factory=_u64)

    # Functions, by address; the code of number i is rows part_from[i] to part_from[i + 1].
    function_address: array[int] = field(default_factory=_u64)
    function_file: array[int] = field(default_factory=_u32)
    function_line: array[int] = field(default_factory=_u32)
    part_from: array[int] = field(default_factory=lambda: array("I", [0]))
    part_first: array[int] = field(default_factory=_u32)
    part_end: array[int] = field(default_factory=_u32)

    folded: array[int] = field(default_factory=lambda: array("I", [0]))
    """How many instructions are of lines of several functions: a linker made one of equal ones."""

    # Source lines, by file and number; line 0 is code of no line.
    line_file: array[int] = field(default_factory=_u32)
    line_number: array[int] = field(default_factory=_u32)
    line_from: array[int] = field(default_factory=lambda: array("I", [0]))

    # Pieces of lines, by line: those of line i are rows line_from[i] to line_from[i + 1].
    first: array[int] = field(default_factory=_u32)
    own: array[int] = field(default_factory=_u32)
    end: array[int] = field(default_factory=_u32)
    column: array[int] = field(default_factory=_u32)
    slot: array[int] = field(default_factory=_u32)
    """Which copy of its line it is: 0, 1.."""
    tells: bytes = b""
    """1: it counts for how often its line ran."""

    def pieces(self, line: int) -> list[Piece]:
        """The pieces of the line of that index, by address; `is_stmt`: it tells."""
        begin, end = self.line_from[line], self.line_from[line + 1]
        return [
            Piece(self.first[i], self.own[i], self.end[i], self.column[i], bool(self.tells[i]))
            for i in range(begin, end)
        ]

    def functions(self) -> list[PlacedFunction]:
        """All functions that have code, by address."""
        return [
            PlacedFunction(
                address,
                self.function_file[i],
                self.function_line[i],
                tuple(
                    (self.part_first[j], self.part_end[j])
                    for j in range(self.part_from[i], self.part_from[i + 1])
                ),
            )
            for i, address in enumerate(self.function_address)
        ]

    def add_function(self, function: PlacedFunction) -> None:
        """Append a function."""
        self.function_address.append(function.address)
        self.function_file.append(function.file)
        self.function_line.append(function.line)
        self.part_first.extend(first for first, _ in function.code)
        self.part_end.extend(end for _, end in function.code)
        self.part_from.append(len(self.part_first))

    def with_files(self, paths: Sequence[str]) -> Layout:
        """The same with other names of files; what has one name then becomes one file."""
        if len(set(paths)) == len(paths):
            return self._renamed(list(paths))
        names = list(dict.fromkeys(paths))
        numbers = {name: number for number, name in enumerate(names)}
        by_file: list[dict[int, list[Piece]]] = [{} for _ in names]
        for line, number in enumerate(self.line_number):
            by_line = by_file[numbers[paths[self.line_file[line]]]]
            by_line.setdefault(number, []).extend(self.pieces(line))
        for by_line in by_file:
            for pieces in by_line.values():
                pieces.sort()
        changed = self._renamed(names)
        changed.function_file = array("I", (numbers[paths[file]] for file in self.function_file))
        lay_lines(changed, by_file)
        return changed

    def _renamed(self, names: list[str]) -> Layout:
        return Layout(
            **{each.name: getattr(self, each.name) for each in fields(self)} | {"files": names}
        )

    def to_bytes(self) -> bytes:
        """All columns, for `from_bytes` on the same kind of machine."""
        sizes: dict[str, int] = {}
        columns: list[bytes] = []
        for each in fields(self):
            if each.name != "files":
                column = bytes(getattr(self, each.name))
                sizes[each.name] = len(column)
                columns.append(column)
        head = {"layout": LAYOUT_VERSION, "order": sys.byteorder, "files": self.files, **sizes}
        return json.dumps(head).encode() + b"\n" + b"".join(columns)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self | None:
        """What `to_bytes` gave; None if it is of another version or kind of machine."""
        line, _, _ = content.partition(b"\n")
        head = json.loads(line)
        if head.get("layout") != LAYOUT_VERSION or head.get("order") != sys.byteorder:
            return None
        layout = cls(files=head["files"])
        at = len(line) + 1
        for each in fields(cls):
            if each.name == "files":
                continue
            column = content[at : at + head[each.name]]
            at += len(column)
            empty = getattr(layout, each.name)
            if isinstance(empty, array):
                column = array(empty.typecode, column)  # type: ignore[assignment]
            setattr(layout, each.name, column)
        return layout


def lay_lines(layout: Layout, by_file: Iterable[Mapping[int, Sequence[Piece]]]) -> None:
    """Set the lines of a layout and their pieces.

    Where a line has statement starts, only they tell how often it ran.

    Args:
        by_file: by number of the file, the pieces of each line, by address.
    """
    copies = layout.copies
    files, numbers, starts = array("I"), array("I"), array("I", [0])
    all_pieces: list[Piece] = []
    tells = bytearray()
    slots = array("I")
    for file, by_line in enumerate(by_file):
        for number in sorted(by_line):
            pieces = by_line[number]
            files.append(file)
            numbers.append(number)
            if len(pieces) == 1:
                tells.append(1)
                slots.append(0)
            else:
                told = [piece.is_stmt for piece in pieces]
                if not any(told):
                    told = [True] * len(pieces)
                tells += bytes(told)
                known: dict[int, int] = {}
                slots.extend(
                    known.setdefault(copies[piece[0]], len(known)) if tell else 0
                    for piece, tell in zip(pieces, told, strict=True)
                )
            all_pieces += pieces
            starts.append(len(all_pieces))
    layout.line_file, layout.line_number, layout.line_from = files, numbers, starts
    columns = list(zip(*all_pieces, strict=True)) or [()] * 5
    layout.first, layout.own, layout.end, layout.column = (array("I", c) for c in columns[:4])
    layout.tells, layout.slot = bytes(tells), slots
