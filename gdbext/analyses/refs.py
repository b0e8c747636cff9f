# SPDX-License-Identifier: GPL-2.0-or-later
"""How functions and places are named in results: the same everywhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gdbext.analyses.program import Program
    from gdbext.symbols import Function, Symbols

__all__ = ["FunctionRef", "Name", "Site", "function_ref", "numbered", "site_at"]


@dataclass(frozen=True, order=True)
class FunctionRef:
    """A function by name and address; statics share names, addresses do not.

    For code that no function holds, `name` says so and `address` is the code's own.
    """

    name: str
    address: int
    file: str | None

    def to_json(self) -> dict[str, Any]:
        """{name, address, file}."""
        return asdict(self)


@dataclass(frozen=True)
class Site:
    """An instruction that calls, jumps or falls into a function, `count` times."""

    address: int
    file: str | None
    line: int | None
    count: int

    def to_json(self) -> dict[str, Any]:
        """{address, file, line, count}."""
        return asdict(self)


def function_ref(symbols: Symbols, function: Function | None, address: int) -> FunctionRef:
    """The reference to `function`, or to nameless code at `address`."""
    if function is None:
        where = "unnamed code" if symbols.is_code(address) else "code outside the ELF file"
        return FunctionRef(f"({where} at {address:#x})", address, None)
    return FunctionRef(function.name, function.address, function.file)


def site_at(symbols: Symbols, address: int, count: int) -> Site:
    """The place of an instruction."""
    where = symbols.line_at(address)
    return Site(address, where.file if where else None, where.line if where else None, count)


class Name(NamedTuple):
    """A function by name, as the engine's tables number it; code without one has no address."""

    name: str
    address: int | None
    file: str | None


def numbered(program: Program, number: int) -> Name:
    """The function with that number."""
    inlined = program.numbers.inlined_name(number)
    if inlined is not None:
        return Name(inlined, None, None)
    function = program.numbers.functions[number]
    if function is None:
        return Name("(code that no function holds)", None, None)
    return Name(function.name, function.address, function.file)
