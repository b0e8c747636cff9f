# SPDX-License-Identifier: GPL-2.0-or-later
"""An ELF file beside the program, and where it lies in memory: `boot.elf@0x0`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from gdbext.errors import UsageError

__all__ = ["PlacedElf", "parse_placed"]


class PlacedElf(NamedTuple):
    """A bootloader, a library or another image that runs beside the program."""

    path: Path
    address: int | None
    """Where its first loaded byte lies; None: at the address it was linked for."""

    def to_json(self) -> dict[str, Any]:
        """As it stands in a recording's META."""
        return {"path": str(self.path.absolute()), "address": self.address}


def parse_placed(text: str) -> PlacedElf:
    """`FILE` or `FILE@ADDRESS`; a file whose name holds an `@` is taken as it is.

    Raises:
        UsageError: the file is not there, or the address is none.
    """
    whole = Path(text).expanduser()
    name, at, address = text.rpartition("@")
    if not at or whole.is_file():
        path, place = whole, None
    else:
        path = Path(name).expanduser()
        try:
            place = int(address, 0)
        except ValueError:
            place = -1
        if place < 0:
            raise UsageError(f"'{address}' in '{text}' is no address; write FILE@0x8000")
    if not path.is_file():
        raise UsageError(f"{path}: no such file; write FILE or FILE@ADDRESS")
    return PlacedElf(path, place)
