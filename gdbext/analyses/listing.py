# SPDX-License-Identifier: GPL-2.0-or-later
"""Source text with what ran of it: a function's lines, or a whole file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gdbext.errors import UsageError

if TYPE_CHECKING:
    from gdbext.coverage.model import Branch, Coverage, FileCoverage, Line
    from gdbext.symbols import Function, Symbols

__all__ = ["ListedLine", "SourceListing", "list_source"]


@dataclass(frozen=True)
class ListedLine:
    """One line of a source file."""

    number: int
    text: str | None
    """None: the file is not on this machine, or is shorter."""
    coverage: Line | None
    """None: it has no code."""
    branches: tuple[Branch, ...]
    """By address."""

    def to_json(self) -> dict[str, Any]:
        """{line, text, count, state, branches[]}; count and state null: no code."""
        line = self.coverage
        content: dict[str, Any] = {
            "line": self.number,
            "text": self.text,
            "count": line.count if line else None,
            "state": line.state if line else None,
            "branches": [branch.to_json() for branch in self.branches],
        }
        return (
            content
            if line is None or line.excluded is None
            else {
                **content,
                "excluded": line.excluded,
            }
        )


@dataclass(frozen=True)
class SourceListing:
    """Lines of one file, in order."""

    path: str
    found: bool
    """The file is on this machine; without it only lines that have code are listed."""
    lines: tuple[ListedLine, ...]

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "gdbext/list/1"."""
        return {
            "path": self.path,
            "found": self.found,
            "lines": [line.to_json() for line in self.lines],
        }


def list_source(
    symbols: Symbols, coverage: Coverage, function: Function | None, path: str | None
) -> SourceListing:
    """Lay coverage beside the source.

    Args:
        coverage: of the function or of the file.
        function: list its lines; None: list the one file that `coverage` holds.
        path: of the function's file, renamed.

    Raises:
        UsageError: the function has no source lines.
    """
    if function is None:
        file = coverage.files[0]
        text = symbols.source_lines(file.path)
        numbers = range(1, max(len(text), *(line.line for line in file.lines), 0, 0) + 1)
        return _listing(file, text, numbers)
    extent = symbols.lines_of(function)
    found = coverage.file(path) if path is not None else None
    if extent is None or found is None:
        raise UsageError(
            f"{function.name} has no source lines in the debug information; "
            "`branches` and `analyze --function` need none"
        )
    _, first, last = extent
    return _listing(found, symbols.source_lines(found.path), range(first, last + 1))


def _listing(file: FileCoverage, text: list[str], numbers: range) -> SourceListing:
    lines = {line.line: line for line in file.lines}
    branches: dict[int | None, list[Branch]] = {}
    for branch in file.branches:
        branches.setdefault(branch.line, []).append(branch)
    return SourceListing(
        file.path,
        bool(text),
        tuple(
            ListedLine(
                number,
                text[number - 1] if number <= len(text) else None,
                lines.get(number),
                tuple(branches.get(number, ())),
            )
            for number in numbers
            if text or number in lines
        ),
    )
