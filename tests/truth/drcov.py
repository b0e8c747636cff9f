# SPDX-License-Identifier: GPL-2.0-or-later
"""A reader of drcov files, version 2, from the format's description alone."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import NamedTuple

__all__ = ["Block", "Drcov", "Module", "read_drcov"]


class Module(NamedTuple):
    """A row of the module table."""

    base: int
    end: int
    path: str


class Block(NamedTuple):
    """An entry of the table of basic blocks."""

    offset: int
    size_bytes: int
    module: int


class Drcov(NamedTuple):
    """A file."""

    modules: list[Module]
    blocks: list[Block]

    def addresses(self) -> set[int]:
        """Every byte of every block."""
        return {
            self.modules[block.module].base + block.offset + at
            for block in self.blocks
            for at in range(block.size_bytes)
        }


def read_drcov(path: Path) -> Drcov:
    """Read a file; an assertion fails where it is not of the format."""
    data = path.read_bytes()

    def row() -> str:
        nonlocal data
        text, newline, data = data.partition(b"\n")
        assert newline
        return text.decode()

    assert row() == "DRCOV VERSION: 2"
    assert re.fullmatch(r"DRCOV FLAVOR: \S+", row())
    count = re.fullmatch(r"Module Table: version 2, count (\d+)", row())
    assert count
    columns = row().removeprefix("Columns: ").split(", ")
    modules = []
    for number in range(int(count[1])):
        values = row().split(", ", len(columns) - 1)
        fields = dict(zip(columns, (value.strip() for value in values), strict=True))
        assert int(fields["id"]) == number
        modules.append(Module(int(fields["base"], 16), int(fields["end"], 16), fields["path"]))
    count = re.fullmatch(r"BB Table: (\d+) bbs", row())
    assert count
    assert len(data) == 8 * int(count[1])
    blocks = [Block(*fields) for fields in struct.iter_unpack("<IHH", data)]
    for block in blocks:
        module = modules[block.module]
        assert block.size_bytes
        assert module.base + block.offset + block.size_bytes <= module.end
    return Drcov(modules, blocks)
