# SPDX-License-Identifier: GPL-2.0-or-later
"""The code that can run: instructions of the program's functions, and of code that has lines."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gdbext.replay.conditions import Scan, scan
from gdbext.replay.disassembly import default_mode
from gdbext.replay.kinds import Mode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gdbext.symbols import Function, LineRow, Symbols

__all__ = ["Body", "Code", "mode_of", "read_code"]


class Body(NamedTuple):
    """Instructions [first, end) of one function, as places in `Code.addresses`.

    A function has several where others lie inside it, or where its code was moved out; `function`
    is None for code that no symbol names.
    """

    function: Function | None
    first: int
    end: int


@dataclass
class Code:
    """Instructions by ascending address, and whose they are."""

    scan: Scan = field(default_factory=Scan)
    bodies: list[Body] = field(default_factory=list)
    """By address; they do not overlap."""

    ranges: list[tuple[int, int]] = field(default_factory=list)
    """The addresses that were read, by address, half-open."""
    copies: list[int] = field(default_factory=list)
    """Of each instruction: a number that only the code of one copy of its source shares: one
    function's is even or negative, one inlining's is odd."""

    @property
    def addresses(self) -> list[int]:
        """Of each instruction."""
        return self.scan.addresses

    def place(self, address: int) -> int:
        """Of the instruction that begins there."""
        return self._at[address]

    def places(self, start: int, end: int) -> tuple[int, int]:
        """Instructions that begin in [start, end), as places in `addresses`."""
        first, last = self._at.get(start), self._at.get(end)
        return (
            bisect_left(self.addresses, start) if first is None else first,
            bisect_left(self.addresses, end) if last is None else last,
        )

    @cached_property
    def _at(self) -> dict[int, int]:
        """The place of each address."""
        return {address: place for place, address in enumerate(self.addresses)}


def read_code(
    symbols: Symbols,
    target: str,
    functions: Sequence[Function],
    rows: Sequence[LineRow],
    executed: Collection[int],
    *,
    whole: bool,
) -> Code:
    """Read the code of functions.

    Args:
        target: QEMU's target name.
        functions: by address.
        rows: line rows.
        whole: code of the rows that is in no function is read too.
        executed: addresses of instructions that ran: inside the functions they are code, whatever
            the file says.
    """
    pieces: list[tuple[int, int, Function | None]] = [
        (low, high, function)
        for function in functions
        for low, high in _own_ranges(symbols, function)
    ]
    if whole:
        pieces += ((low, high, None) for low, high in _beside(pieces, rows))
    pieces.sort(key=lambda piece: piece[0])
    starts = [low for low, _, _ in pieces]
    ran: list[list[int]] = [[] for _ in pieces]
    for address in executed:
        at = bisect_left(starts, address + 1) - 1
        if at >= 0 and address < pieces[at][1]:
            ran[at].append(address)
    code = Code()
    kept = {row.start for row in rows} | set(executed)
    for (low, high, function), here in zip(pieces, ran, strict=True):
        first = len(code.addresses)
        found = Scan()
        for start, end, mode in symbols.code_spans(low, high):
            content = symbols.bytes_at(start, end - start)
            if content:
                found.add(scan(mode_of(target, mode), start, content, kept))
        _insert(found, here)
        code.scan.add(found)
        code.ranges.append((low, high))
        code.bodies.append(Body(function, first, len(code.addresses)))
    code.copies = _copies(symbols, code)
    return code


def _copies(symbols: Symbols, code: Code) -> list[int]:
    """Functions have negative even numbers, what debug information describes has its own."""
    copies = [0] * len(code.addresses)
    numbers: dict[int, int] = {}
    for body in code.bodies:
        own = 0
        if body.function is not None:
            own = -2 - 2 * numbers.setdefault(body.function.address, len(numbers))
        copies[body.first : body.end] = [own] * (body.end - body.first)
    if code.addresses:
        low, high = code.addresses[0], code.addresses[-1] + 1
        for start, end, die in symbols.sources.copies(low, high):
            first, last = code.places(start, end)
            copies[first:last] = [die] * (last - first)
    return copies


def _own_ranges(symbols: Symbols, function: Function) -> Iterator[tuple[int, int]]:
    """The function's code without the functions that lie in it."""
    all_functions = symbols.functions
    at = bisect_left(all_functions, function.address + 1, key=lambda f: f.address)
    low = function.address
    for inner in all_functions[at:]:
        if inner.address >= function.end:
            break
        if inner.address > low:
            yield low, inner.address
        low = max(low, inner.end)
    if low < function.end:
        yield low, function.end


def _beside(
    pieces: Sequence[tuple[int, int, Function | None]], rows: Sequence[LineRow]
) -> Iterator[tuple[int, int]]:
    """What the rows hold beside the pieces, neighbours joined."""
    borders = sorted((low, high) for low, high, _ in pieces)
    starts = [low for low, _ in borders]
    open_low = open_high = 0
    for row in rows:
        at = bisect_left(starts, row.start + 1) - 1
        if at >= 0 and row.start < borders[at][1]:
            continue
        high = min(row.end, starts[at + 1]) if at + 1 < len(starts) else row.end
        if row.start <= open_high and open_high:
            open_high = max(open_high, high)
            continue
        if open_high:
            yield open_low, open_high
        open_low, open_high = row.start, high
    if open_high:
        yield open_low, open_high


def _insert(found: Scan, executed: list[int]) -> None:
    """Add executed instructions that reading the code did not find; their size is not known."""
    known = set(found.addresses)
    missing = [address for address in executed if address not in known]
    if missing:
        sizes = dict(zip(found.addresses, found.sizes, strict=True)) | dict.fromkeys(missing, 0)
        found.addresses = sorted(sizes)
        found.sizes = bytearray(sizes[address] for address in found.addresses)


def mode_of(target: str, marked: str | None) -> Mode:
    """Instruction set: what the file says, else the target's."""
    if marked in ("arm", "thumb"):
        return Mode.ARM if marked == "arm" else Mode.THUMB
    return default_mode(target)
