# SPDX-License-Identifier: GPL-2.0-or-later
"""Books that firmware keeps of its own calls, and the engine's tree in the same form.

See tests/firmware/engine/books.h. A path is `task/main/f>g`: called `f`, which made a tail call to
`g`. Paths hold the functions that keep books, and nothing of the others in between; a function
called by one of those is `/f`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gdbext.analyses.workspace import Workspace
from gdbext.replay.calls import HANDLER_KINDS, HandlerRow, NodeKind, TaskRow
from gdbext.replay.tables import Stats
from tests.support.firmware import counters

__all__ = ["Books", "Found", "read_books"]

_HANDLERS = HANDLER_KINDS


@dataclass(frozen=True)
class Books:
    """What a program printed."""

    counters: dict[str, int]

    @property
    def paths(self) -> dict[str, int]:
        """Calls by path."""
        return self._with("path:")

    @property
    def functions_with_paths(self) -> set[str]:
        """The functions that paths are about."""
        return {name for path in self.paths for name in re.split("[/>]", path)[1:]}

    @property
    def calls(self) -> dict[str, int]:
        """Calls by function."""
        return self._with("calls:")

    @property
    def switches(self) -> dict[str, int]:
        """Switches to each task, by the function it begins with."""
        return self._with("switches:")

    @property
    def handlers(self) -> dict[str, int]:
        """Runs of each handler."""
        return self._with("handler:")

    def _with(self, prefix: str) -> dict[str, int]:
        return {
            name.removeprefix(prefix): n
            for name, n in self.counters.items()
            if name.startswith(prefix) and n
        }


def read_books(text: str) -> Books:
    """The books in a program's output."""
    books = Books(counters(text))
    assert books.calls, text
    return books


class Found:
    """What the engine found in a recording."""

    def __init__(self, recording: Path, elf: Path) -> None:
        workspace = Workspace(recording, elf)
        workspace.refresh()
        self.has_probes = "probes" in workspace.meta.get("features", ())
        self.program = workspace.program
        self.tables = self.program.calls
        self.nodes = self.tables.nodes
        self.events = "discontinuity" in workspace.meta.get("features", ())
        """Whether QEMU reported traps."""

    @property
    def stats(self) -> Stats:
        """Counters of the repairs."""
        return self.program.tables.stats

    def name(self, function: int) -> str:
        """A function's name by its number."""
        found = self.program.numbers.functions[function]
        return found.name if found is not None else "?"

    def calls(self) -> dict[str, int]:
        """Calls by function."""
        return {self.name(n): cost.calls for n, cost in enumerate(self.tables.costs) if cost.calls}

    def paths(self, booked: Iterable[str]) -> dict[str, int]:
        """Calls by path, of the functions that keep books."""
        known = set(booked)
        texts = [""]
        found: Counter[str] = Counter()
        for node in self.nodes[1:]:
            text = texts[node.parent] or ("trap" if node.kind in _HANDLERS else "task")
            if (name := self.name(node.function)) in known:
                caller = self.name(self.nodes[node.parent].function)
                tail = node.kind == NodeKind.TAIL and caller in known
                text += (">" if tail else "/") + name
                found[text] += node.calls
            texts.append(text)
        return dict(found)

    def program_tree(self, below: str) -> dict[str, tuple[int, int]]:
        """(calls, self instructions) of every path from function `below` on, handlers left out."""
        texts = [""]
        found: dict[str, tuple[int, int]] = {}
        for node in self.nodes[1:]:
            text = texts[node.parent]
            if node.kind not in _HANDLERS and (text or self.name(node.function) == below):
                text += f"{'>' if node.kind == NodeKind.TAIL else '/'}{self.name(node.function)}"
                before = found.get(text, (0, 0))
                found[text] = (before[0] + node.calls, before[1] + node.self_insns)
            texts.append(text)
        return found

    def handler(self, name: str) -> HandlerRow:
        """The handler that begins with a function."""
        rows = [row for row in self.tables.handlers if self._function_at(row.address) == name]
        assert len(rows) == 1, (name, self.tables.handlers)
        return rows[0]

    def task(self, name: str) -> TaskRow:
        """The task that begins with a function."""
        rows = [row for row in self.tables.tasks if self.name(row.entry_function) == name]
        assert len(rows) == 1, (name, self.tables.tasks)
        return rows[0]

    def self_by_function(self) -> Counter[str]:
        """Self instructions of the tree's nodes by function."""
        found: Counter[str] = Counter()
        for node in self.nodes[1:]:
            found[self.name(node.function)] += node.self_insns
        return found

    def _function_at(self, address: int) -> str | None:
        function = self.program.symbols.function_at(address)
        return function.name if function is not None else None
