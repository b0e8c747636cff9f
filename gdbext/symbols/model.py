# SPDX-License-Identifier: GPL-2.0-or-later
"""What symbols are made of: functions, source lines, inline frames, line rows, vectors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

Origin = Literal["symtab", "dwarf", "found"]
Mode = Literal["arm", "thumb", "data"]


class SourceLine(NamedTuple):
    """A place in a source file; `column` is 0 where the compiler did not say."""

    file: str
    line: int
    column: int


class InlineFrame(NamedTuple):
    """One function of an inline chain and the place in it; unknown file or line is None."""

    function: str
    file: str | None
    line: int | None


class LineRow(NamedTuple):
    """Instructions [start, end) that came from one source line (link addresses).

    `line` is 0 for code that belongs to no line; `is_stmt` marks the compiler's statement starts.
    """

    start: int
    end: int
    file: str
    line: int
    column: int
    is_stmt: bool


class Vector(NamedTuple):
    """One entry of an M-profile vector table, by exception number (1 is Reset, 16 is IRQ0).

    `handler` is without the Thumb bit.
    """

    number: int
    name: str
    handler: int


def _nowhere(_address: int) -> SourceLine | None:
    return None


@dataclass(frozen=True, slots=True)
class Function:
    """A function's code [address, address + size), by link address without the Thumb bit.

    `file` and `line` are the line table's for the first instruction (as addr2line says), looked
    up when asked for, None without debug information.
    """

    name: str  # demangled
    raw_name: str  # as in the ELF file
    address: int
    size: int  # bytes; 0 when nothing tells where it ends
    aliases: tuple[str, ...] = ()  # demangled other names of the same address
    origin: Origin = "symtab"  # symbol table, debug information, or seen as a call's target
    mode: Mode | None = None  # Arm only
    place: Callable[[int], SourceLine | None] = field(default=_nowhere, compare=False, repr=False)

    @property
    def end(self) -> int:
        """The first address after the function."""
        return self.address + self.size

    @property
    def file(self) -> str | None:
        """Source file of the first instruction."""
        where = self.place(self.address)
        return where.file if where else None

    @property
    def line(self) -> int | None:
        """Source line of the first instruction."""
        where = self.place(self.address)
        return where.line if where else None
