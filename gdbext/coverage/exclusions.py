# SPDX-License-Identifier: GPL-2.0-or-later
"""What is not to be counted, and why: marks in the source, or a YAML list.

In the source, on the line itself, or around several:

    panic("no memory"); // gdbext: exclude cannot happen on this board
    // gdbext: exclude-begin error paths of the vendor's library
    // gdbext: exclude-end

In a list, one entry for each place; `lines` are numbers or ranges:

    - file: src/heap.c
      lines: 40-52
      reason: not reached with one pool
    - function: panic
      reason: ends the program
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from gdbext.coverage.filters import matches
from gdbext.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["Entry", "Exclusions", "read_list"]

_MARK: Final = re.compile(r"gdbext:\s*exclude(-begin|-end)?\b[ \t]*(.*?)\s*(?:\*/\s*)?$")
_KEYS: Final = ("file", "lines", "function", "reason")


class Entry(NamedTuple):
    """One entry of a list: lines of a file, a whole file, or a function."""

    where: str
    """FILE:LINE of the entry, for messages."""
    reason: str
    file: str | None
    lines: tuple[tuple[int, int], ...]
    """First and last line of each range; empty: all of the file."""
    function: str | None


@dataclass
class Exclusions:
    """Entries of lists, and the marks of the source files that are asked about."""

    entries: Sequence[Entry] = ()
    notes: list[str] = field(default_factory=list)
    """What is wrong with marks, one line each."""
    _used: set[Entry] = field(default_factory=set)

    def of_file(self, path: str, lines: Iterable[int], source: Sequence[str]) -> dict[int, str]:
        """Reasons by line.

        Args:
            path: of the file, renamed.
            lines: those that have code.
            source: the file's text by line; empty if it is not there.
        """
        reasons: dict[int, str] = {}
        for entry in self.entries:
            if entry.file is None or not matches(path, entry.file):
                continue
            for line in lines:
                if not entry.lines or any(low <= line <= high for low, high in entry.lines):
                    reasons.setdefault(line, entry.reason)
                    self._used.add(entry)
        return self._marks(path, source) | reasons

    def functions(self) -> list[Entry]:
        """The entries that name functions."""
        return [entry for entry in self.entries if entry.function is not None]

    def use(self, entry: Entry) -> None:
        """The entry fitted something."""
        self._used.add(entry)

    def unused(self) -> list[Entry]:
        """Entries that fitted nothing so far."""
        return [entry for entry in self.entries if entry not in self._used]

    def _marks(self, path: str, source: Sequence[str]) -> dict[int, str]:
        reasons: dict[int, str] = {}
        began = 0
        reason = ""
        for number, text in enumerate(source, 1):
            found = _MARK.search(text) if "gdbext:" in text else None
            if found is None:
                if began:
                    reasons[number] = reason
                continue
            kind, said = found[1], found[2]
            if kind == "-end":
                if not began:
                    self.notes.append(f"{path}:{number}: exclude-end without exclude-begin")
                began = 0
            elif not said:
                self.notes.append(f"{path}:{number}: exclusion without a reason; it is not used")
            elif kind == "-begin":
                began, reason = number, said
            else:
                reasons[number] = said
        if began:
            self.notes.append(f"{path}:{began}: exclude-begin without exclude-end")
        return reasons


def read_list(path: Path) -> list[Entry]:
    """Read a YAML list of exclusions.

    Raises:
        ConfigError: it cannot be read, is no such list, or an entry has no reason.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"{path}: cannot be read: {reason}") from error
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise ConfigError(f"{path}:1: not a list; begin each entry with '- file: F'")
        return [
            _entry(f"{path}:{item.start_mark.line + 1}", loader.construct_object(item, deep=True))
            for item in node.value
        ]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        raise ConfigError(f"{path}:{line}: not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}:1: not YAML: {' '.join(str(error).split())}") from error
    finally:
        loader.dispose()


def _entry(where: str, values: Any) -> Entry:
    if not isinstance(values, dict):
        raise ConfigError(f"{where}: an entry has keys: {', '.join(_KEYS)}")
    unknown = [str(key) for key in values if key not in _KEYS]
    if unknown:
        raise ConfigError(f"{where}: unknown key '{unknown[0]}'; known are {', '.join(_KEYS)}")
    for key in ("file", "function", "reason"):
        if not isinstance(values.get(key), str | None):
            raise ConfigError(f"{where}: {key} must be a text")
    file, function, reason = values.get("file"), values.get("function"), values.get("reason")
    if not reason:
        raise ConfigError(f"{where}: no reason; say why this is not counted")
    if (file is None) == (function is None):
        raise ConfigError(f"{where}: give a file or a function")
    if function is not None and "lines" in values:
        raise ConfigError(f"{where}: lines go with a file, not with a function")
    return Entry(where, reason, file, _line_ranges(where, values.get("lines")), function)


def _line_ranges(where: str, value: Any) -> tuple[tuple[int, int], ...]:
    if value is None:
        return ()
    ranges = []
    for item in value if isinstance(value, list) else [value]:
        found = re.fullmatch(r"(\d+)(?:\s*-\s*(\d+))?", str(item))
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise ConfigError(f"{where}: lines: '{item}' is no line or range such as 40-52")
        ranges.append((int(found[1]), int(found[2] or found[1])))
    return tuple(ranges)
