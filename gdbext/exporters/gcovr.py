# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage as gcovr's JSON, from which gcovr writes HTML, Cobertura, SonarQube, JaCoCo and others.

Format: gcovr's documentation, "JSON Output". It has had several versions, and gcovr reads only its
own; the keys written here are understood by all from 0.3 (gcovr 5.2) on.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from gdbext.exporters.functions import hits, named_functions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdbext.coverage.model import Branch, Coverage, FileCoverage, FunctionCoverage, Line
    from gdbext.exporters.functions import KnownFunctions

__all__ = ["NEWEST_VERSION", "gcovr_json"]

NEWEST_VERSION: Final = "0.15"
"""Of the format, as gcovr 8.8 has it."""


def gcovr_json(coverage: Coverage, known: KnownFunctions, version: str = NEWEST_VERSION) -> str:
    """The JSON text. What has no line is not in it; what is excluded is marked so.

    Args:
        known: what ELF files say of functions.
        version: of the format.
    """
    content = {
        "gcovr/format_version": version,
        "files": [_file(file, known) for file in coverage.files],
    }
    return json.dumps(content, separators=(",", ":")) + "\n"


def _file(file: FileCoverage, known: KnownFunctions) -> dict[str, Any]:
    named = named_functions(file, known)
    holders = _holders(named, known)
    branches: dict[int, list[Branch]] = {}
    for branch in file.branches:
        if branch.line is not None:
            branches.setdefault(branch.line, []).append(branch)
    return {
        "file": file.path,
        "lines": [
            _line(line, branches.get(line.line, []), holders.get(line.line)) for line in file.lines
        ],
        "functions": [_function(*each) for each in named],
    }


def _holders(
    named: Sequence[tuple[str, FunctionCoverage]], known: KnownFunctions
) -> dict[int, str]:
    """The function that a line belongs to, by line: the innermost, of copies the first."""
    sizes: dict[int, int] = {}
    holders: dict[int, str] = {}
    for name, function in named:
        of_file = known.get((function.address, function.name))
        lines = range(0) if of_file is None else of_file.lines
        for line in lines:
            if line not in sizes or len(lines) < sizes[line]:
                sizes[line], holders[line] = len(lines), name
    return holders


def _line(line: Line, branches: list[Branch], holder: str | None) -> dict[str, Any]:
    """Two branches for each branch instruction: taken, not taken (it falls through).

    Those of an excluded line are left out: gcovr would count them.
    """
    if line.excluded is not None:
        branches = []
    ways = [
        (count, block, falls)
        for block, branch in enumerate(branches)
        for count, falls in ((branch.taken, False), (branch.not_taken, True))
    ]
    return ({} if holder is None else {"function_name": holder}) | {
        "line_number": line.line,
        "count": line.count or 0,
        # These two must be there up to 0.5.
        "gcovr/noncode": False,
        "gcovr/excluded": line.excluded is not None,
        "branches": [
            {
                "branchno": number,
                "count": count,
                "blockno": block,
                "fallthrough": falls,
                "throw": False,
            }
            for number, (count, block, falls) in enumerate(ways)
        ],
    }


def _function(name: str, function: FunctionCoverage) -> dict[str, Any]:
    """Which part of its blocks ran stands as the part of its instructions."""
    part = function.insns.percent
    count = hits(function)
    readable = function.name + name[name.index("#") :] if "#" in name else function.name
    return {
        "name": name,
        "demangled_name": readable,
        "lineno": function.line,
        "execution_count": count,
        "returned_count": count,
        "blocks_percent": 0.0 if part is None else round(part, 1),
        "gcovr/excluded": function.excluded is not None,
    }
