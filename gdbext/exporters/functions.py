# SPDX-License-Identifier: GPL-2.0-or-later
"""What formats that know source files only can say of functions, and what they leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdbext.coverage.model import Coverage, FileCoverage, FunctionCoverage

__all__ = ["hits", "left_out", "named_functions"]


def named_functions(
    file: FileCoverage, names: Mapping[int, str]
) -> list[tuple[str, FunctionCoverage]]:
    """The functions of a file that have a line, by address, each with a name of its own.

    Readers tell functions of a file apart by name alone, but copies of a header's function share
    theirs: the second is `NAME#2`, and so on.

    Args:
        names: linker's names (mangled, so without commas) by address.
    """
    seen: dict[str, int] = {}
    named = []
    for function in file.functions:
        if function.line is None:
            continue
        name = names.get(function.address, function.name).replace(",", ";")
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
