# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage as an LCOV trace file, which genhtml, lcov and many editors and services read.

Format: geninfo(1), "TRACEFILE FORMAT"; the records that both lcov 1 and lcov 2 know.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from pathlib import PurePath
from typing import TYPE_CHECKING

from gdbext.exporters.functions import hits, named_functions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gdbext.coverage.model import Branch, Coverage, FileCoverage
    from gdbext.exporters.functions import KnownFunctions

__all__ = ["lcov", "test_name"]


def lcov(coverage: Coverage, known: KnownFunctions, test: str = "") -> str:
    """The trace file. Excluded lines are not in it, nor is what has no line.

    Args:
        known: what ELF files say of functions.
        test: name of the test, of letters, digits and `_`.
    """
    rows = [f"TN:{test}"]
    for file in coverage.files:
        rows += [f"SF:{file.path}"]
        rows += _functions(file, known)
        rows += _branches(file)
        rows += _lines(file)
        rows += ["end_of_record"]
    return "\n".join(rows) + "\n"


def test_name(recording: str) -> str:
    """A name for the test that a recording is of: its file's, of the letters that are allowed."""
    return re.sub(r"\W+", "_", PurePath(recording).stem, flags=re.ASCII)


def _functions(file: FileCoverage, known: KnownFunctions) -> Iterator[str]:
    """`FN:line,name` of all, then `FNDA:count,name`, then how many there are and were hit.

    genhtml 2 wants a function's line to be one that has code: it is the first such line from the
    one on that names the function.
    """
    numbers = [line.line for line in file.lines if line.excluded is None]
    functions = [
        (name, function)
        for name, function in named_functions(file, known)
        if function.excluded is None
    ]
    for name, function in functions:
        at = bisect_left(numbers, function.line or 0)
        yield f"FN:{numbers[at] if at < len(numbers) else function.line},{name}"
    for name, function in functions:
        yield f"FNDA:{hits(function)},{name}"
    yield f"FNF:{len(functions)}"
    yield f"FNH:{sum(function.covered for _, function in functions)}"


def _branches(file: FileCoverage) -> Iterator[str]:
    """`BRDA:line,block,branch,count`: a block for each branch instruction of a line.

    Branch 0 is taken, 1 not taken; the count is `-` where the instruction was never executed.
    """
    by_line: dict[int, list[Branch]] = {}
    for branch in file.branches:
        if branch.line is not None and branch.excluded is None:
            by_line.setdefault(branch.line, []).append(branch)
    found = hit = 0
    for line, branches in sorted(by_line.items()):
        for block, branch in enumerate(branches):
            taken, not_taken = (branch.taken, branch.not_taken) if branch.executed else ("-", "-")
            yield f"BRDA:{line},{block},0,{taken}"
            yield f"BRDA:{line},{block},1,{not_taken}"
            found += 2
            hit += branch.outcomes.covered
    yield f"BRF:{found}"
    yield f"BRH:{hit}"


def _lines(file: FileCoverage) -> Iterator[str]:
    """`DA:line,count`; undecided lines have 0, they are not covered."""
    lines = [line for line in file.lines if line.excluded is None]
    for line in lines:
        yield f"DA:{line.line},{line.count or 0}"
    yield f"LF:{len(lines)}"
    yield f"LH:{sum(line.covered for line in lines)}"
