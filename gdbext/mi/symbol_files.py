# SPDX-License-Identifier: GPL-2.0-or-later
"""Words for GDB's command line that load the symbols of ELF files beside the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.symbols import Symbols

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdbext.placed import PlacedElf

__all__ = ["symbol_file_words"]


def symbol_file_words(others: Sequence[PlacedElf]) -> list[str]:
    """`-ex` words that have GDB read the files, each at its address.

    Raises:
        SymbolError: one is no ELF file that could run.
    """
    words = []
    for other in others:
        command = f'add-symbol-file "{other.path.absolute()}"'
        if other.address is not None:
            command += f" -o {other.address - Symbols.open(other.path).load_address:#x}"
        # It asks otherwise, and a front end has nobody to answer.
        words += ["-ex", f"with confirm off -- {command}"]
    return words
