# SPDX-License-Identifier: GPL-2.0-or-later
"""The code of one function, as far as the way between branches matters."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gdbext.coverage.code import mode_of
from gdbext.coverage.decisions.tokens import Place
from gdbext.replay.conditions import end_of_insn
from gdbext.replay.kinds import NO_TARGET, End, EndKind

if TYPE_CHECKING:
    from collections.abc import Container

    from gdbext.coverage.code import Code
    from gdbext.coverage.decisions.source import Region
    from gdbext.symbols import LineRow, Symbols

__all__ = ["Landing", "Machine"]

_GOES_ON = (EndKind.FALL, EndKind.CALL, EndKind.CALL_INDIRECT, EndKind.TRAP_CALL)
_FURTHEST = 4096


class Landing(NamedTuple):
    """Where an outcome of a branch leads."""

    branch: int | None
    """Address of the decision's next branch; None: out of the decision."""
    exit: int
    """Out of the decision: the address, jumps on the way in the decision followed."""
    to: int
    """The same, jumps outside of it followed, too."""
    way: tuple[int, ...]
    """Instructions on the way to the next branch, with it."""


class Machine:
    """Instructions of one function, by address."""

    def __init__(self, symbols: Symbols, target: str, code: Code, rows: list[LineRow]) -> None:
        """The code is the function's; rows are by address."""
        self._symbols = symbols
        self._target = target
        self.code = code
        self._sizes = dict(zip(code.addresses, code.scan.sizes, strict=True))
        self._rows = rows
        self._starts = [row.start for row in rows]
        self._ends: dict[int, End] = {}

    def row_at(self, address: int) -> LineRow | None:
        """The line row of an instruction."""
        at = bisect_right(self._starts, address) - 1
        return self._rows[at] if at >= 0 and address < self._rows[at].end else None

    def place_at(self, address: int) -> Place | None:
        """Where the source of an instruction is, in its file."""
        row = self.row_at(address)
        return None if row is None else Place(row.line, row.column)

    def copy_at(self, address: int) -> int:
        """A number that only one copy of its source shares: one inlining, or the function."""
        first, end = self.code.places(address, address + 1)
        return self.code.copies[first] if first < end else 0

    def following(self, address: int) -> int:
        """The next instruction."""
        return address + self._sizes[address]

    def target(self, branch: int) -> int | None:
        """Where a conditional branch goes when it is taken; None: only the run tells."""
        target = self.code.scan.branches[branch]
        return None if target == NO_TARGET else target

    def land(self, start: int, region: Region, file: str, branches: Container[int]) -> Landing:
        """Follow the only way from an address on.

        Args:
            region: of the decision, in `file`; code of other places is no part of it.
            branches: the decision's.
        """
        out, at, moved = start, start, False
        way: list[int] = []
        for _ in range(_FURTHEST):
            row = self.row_at(at)
            if at not in self._sizes or row is None or row.file != file:
                break
            if at in branches:
                return Landing(at, out, out, (*way, at))
            if not region.holds(Place(row.line, row.column)) or at in self.code.scan.branches:
                break
            end = self.end(at)
            way.append(at)
            if end.kind == EndKind.JUMP and end.target != NO_TARGET:
                at = end.target
                out = out if moved else at
            elif end.kind in _GOES_ON:
                moved = True
                at = self.following(at)
            else:
                break
        return Landing(None, out, self._through(out), ())

    def _through(self, address: int) -> int:
        """Where jumps lead that begin at an address."""
        for _ in range(_FURTHEST):
            if address not in self._sizes or address in self.code.scan.branches:
                break
            end = self.end(address)
            if end.kind != EndKind.JUMP or end.target == NO_TARGET:
                break
            address = end.target
        return address

    def end(self, address: int) -> End:
        """What an instruction does to control flow."""
        end = self._ends.get(address)
        if end is None:
            size = self._sizes[address]
            insn = self._symbols.bytes_at(address, size)
            mode = mode_of(self._target, self._symbols.mode_at(address))
            end = end_of_insn(mode, address, insn) if insn else End(EndKind.UNKNOWN)
            self._ends[address] = end
        return end

    @cached_property
    def _arrivals(self) -> dict[int, list[int]]:
        """By address: the instructions that go there by themselves."""
        found: dict[int, list[int]] = {}
        for address in self.code.addresses:
            if address in self.code.scan.branches:
                targets = [self.code.scan.branches[address], self.following(address)]
            else:
                end = self.end(address)
                targets = [self.following(address)] if end.kind in _GOES_ON else []
                if end.kind == EndKind.JUMP:
                    targets.append(end.target)
            for target in targets:
                found.setdefault(target, []).append(address)
        return found

    def entered_from(self, inside: set[int], own: set[int]) -> int | None:
        """An instruction, none of `own`, that leads into `inside` from outside; None: there is
        none."""
        for address in inside:
            for source in self._arrivals.get(address, ()):
                if source not in inside and source not in own:
                    return source
        return None
