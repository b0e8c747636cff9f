# SPDX-License-Identifier: GPL-2.0-or-later
"""What formats that know source files only can say of functions, and what they leave out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gdbext.coverage.model import Coverage, FileCoverage, FunctionCoverage
    from gdbext.symbols import Symbols

__all__ = ["Known", "KnownFunctions", "hits", "known_functions", "left_out", "named_functions"]


class Known(NamedTuple):
    """What the ELF file says of a function."""

    linker_name: str
    """Mangled, so without commas."""
    lines: range
    """Of its source, as far as it has code of its own; empty where that is not known."""


KnownFunctions = Mapping[tuple[int, str], Known]
"""By address and name: several builds have others at the same address."""


def known_functions(*builds: Symbols) -> KnownFunctions:
    """All functions of some ELF files."""
    known = {}
    for symbols in builds:
        for function in symbols.functions:
            extent = symbols.lines_of(function)
            lines = range(0) if extent is None else range(extent[1], extent[2] + 1)
            known[function.address, function.name] = Known(function.raw_name, lines)
    return known


def named_functions(
    file: FileCoverage, known: KnownFunctions
) -> list[tuple[str, FunctionCoverage]]:
    """The functions of a file that have a line, by address, each with a name of its own.

    Readers tell functions of a file apart by name alone, but copies of a header's function share
    theirs: the second is `NAME#2`, and so on.

    Args:
        known: what ELF files say; other functions have the name that people read.
    """
    seen: dict[str, int] = {}
    named = []
    for function in file.functions:
        if function.line is None:
            continue
        name = function.name
        of_file = known.get((function.address, name))
        if of_file is not None:
            name = of_file.linker_name
        name = name.replace(",", ";")
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name = f"{name}#{seen[name]}"
        named.append((name, function))
    return named


def hits(function: FunctionCoverage) -> int:
    """Times entered; 1 for one that ran without being entered: it did so before the recording."""
    return max(function.count, int(function.covered))


def left_out(coverage: Coverage) -> list[str]:
    """What a list of source lines cannot hold, one remark each."""
    functions = len(coverage.no_source.functions) + sum(
        function.line is None for _, function in coverage.functions()
    )
    branches = len(coverage.no_source.branches) + sum(
        branch.line is None for file in coverage.files for branch in file.branches
    )
    return [
        f"left out, without a source line: {number} {noun}{plural if number > 1 else ''}"
        for number, noun, plural in ((functions, "function", "s"), (branches, "branch", "es"))
        if number
    ]
