# SPDX-License-Identifier: GPL-2.0-or-later
"""What ran by place in the program's modules: drcov, and plain `module+offset`.

Disassemblers' coverage views read both. Excluded and filtered code is in them: they know no lines.
drcov as DynamoRIO's tool of this name writes it, version 2, and as QEMU's plugin does.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__ = ["Module", "Placed", "Run", "drcov", "module_offsets", "modules_of", "place_blocks"]

_MODULE_SPAN: Final = 1 << 32
"""Offsets in a module are 32 bits."""
_BLOCK: Final = struct.Struct("<IHH")
"""Offset of the first byte, size in bytes, number of the module."""


class Module(NamedTuple):
    """A range of loaded addresses, [base, end)."""

    base: int
    end: int


class Run(NamedTuple):
    """Instructions [address, address + size_bytes) that ran, one after the other in memory."""

    address: int
    size_bytes: int


@dataclass
class Placed:
    """Runs of instructions by module."""

    modules: list[Module]
    runs: list[tuple[int, Run]]
    """With the number of the module, by address."""
    outside: int
    """Executed instructions of no module: code that the program put elsewhere."""


def modules_of(ranges: Iterable[tuple[int, int]]) -> list[Module]:
    """As few modules as hold the loaded ranges [start, end), each of less than 4 GiB."""
    modules: list[Module] = []
    for start, end in sorted(ranges):
        while start < end:
            if modules and start < modules[-1].base + _MODULE_SPAN:
                base = modules[-1].base
                part = min(end, base + _MODULE_SPAN)
                modules[-1] = Module(base, max(modules[-1].end, part))
            else:
                part = min(end, start + _MODULE_SPAN)
                modules.append(Module(start, part))
            start = part
    return modules


def place_blocks(
    blocks: Iterable[tuple[int, bytes]], executed: Collection[int], modules: list[Module]
) -> Placed:
    """Lay executed blocks into modules, without their instructions that never ran.

    Args:
        blocks: address, and sizes of the instructions, of each; they may overlap.
        executed: addresses of instructions that ran, a set.
    """
    runs: set[Run] = set()
    for address, sizes in blocks:
        start = at = address
        for size in sizes:
            if at not in executed:  # the block was always left before
                if at > start:
                    runs.add(Run(start, at - start))
                start = at + size
            at += size
        if at > start:
            runs.add(Run(start, at - start))
    placed = Placed(modules, [], sum(_place(modules, at) is None for at in executed))
    for run in sorted(runs):
        number = _place(modules, run.address)
        if number is not None:
            placed.runs.append((number, run))
    return placed


def drcov(placed: Placed, path: str) -> bytes:
    """The file: a table of modules as text, then the runs in binary.

    Args:
        path: of the program; all modules have it.
    """
    head = [
        "DRCOV VERSION: 2",
        "DRCOV FLAVOR: gdbext",
        f"Module Table: version 2, count {len(placed.modules)}",
        "Columns: id, base, end, entry, path",
    ]
    for number, module in enumerate(placed.modules):
        head.append(f"{number:3}, {module.base:#018x}, {module.end:#018x}, {0:#018x}, {path}")
    head.append(f"BB Table: {len(placed.runs)} bbs")
    rows = b"".join(
        _BLOCK.pack(run.address - placed.modules[number].base, run.size_bytes, number)
        for number, run in placed.runs
    )
    return "\n".join(head).encode(errors="surrogateescape") + b"\n" + rows


def module_offsets(executed: Collection[int], modules: Sequence[Module], name: str) -> str:
    """A line `name+offset` for each executed instruction in a module, by address, in hex.

    Of several modules the second is `name.1`, and so on.
    """
    rows = []
    for address in sorted(executed):
        number = _place(modules, address)
        if number is not None:
            label = f"{name}.{number}" if number else name
            rows.append(f"{label}+{address - modules[number].base:x}\n")
    return "".join(rows)


def _place(modules: Sequence[Module], address: int) -> int | None:
    """The number of the module that holds an address."""
    number = bisect_right(modules, address, key=lambda module: module.base) - 1
    return number if number >= 0 and address < modules[number].end else None
