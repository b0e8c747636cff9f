# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds functions by what people type: names, parts of C++ names, `file.c:name`, addresses."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from gdbext.symbols.demangling import short_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdbext.symbols.model import Function

_QUALIFIED_PREFIX = re.compile(r"^(?P<file>.*[^:]):(?P<name>[^:].*|::.*|)$")
_QUALIFIED = re.compile(r"^(?P<file>.*[^:]):(?P<name>[^:].*|::.*)$")


class Names:
    """An index of function names, aliases included."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self._exact: dict[str, list[Function]] = {}
        self._loose: dict[str, list[Function]] = {}
        for function in functions:
            for name in dict.fromkeys((function.name, function.raw_name, *function.aliases)):
                self._exact.setdefault(name, []).append(function)
                if "::" in name or "(" in name:
                    for part in short_names(name) - {name}:
                        self._loose.setdefault(part, []).append(function)
        self._sorted = sorted({*self._exact, *self._loose})

    def find(self, text: str) -> list[Function]:
        """Functions called `text`: the whole name, else without parameters or outer namespaces.

        `file.c:name` keeps those whose source file ends in `file.c`.
        """
        found = self._named(text)
        if found:
            return found
        match = _QUALIFIED.match(text)
        if not match:
            return []
        return [f for f in self._named(match["name"]) if _same_file(f.file, match["file"])]

    def suggest(self, text: str, limit: int = 5) -> list[str]:
        """Names that `text` may be a typing error of, nearest first."""
        match = _QUALIFIED.match(text)
        wanted = match["name"] if match else text
        lower = wanted.lower()
        shown = [n for n in self._sorted if not n.startswith(("_Z", "_R"))]
        close = {n.lower(): n for n in shown if abs(len(n) - len(wanted)) <= 3 + len(wanted) // 3}
        names = [close[n] for n in difflib.get_close_matches(lower, close, limit, 0.6)]
        if len(lower) >= 3:
            names += sorted((n for n in shown if lower in n.lower()), key=lambda n: (len(n), n))
        return list(dict.fromkeys(n for n in names if n != text))[:limit]

    def complete(self, prefix: str, limit: int = 1000) -> list[str]:
        """Names that begin with `prefix`, sorted, at most `limit`.

        After `file.c:` they are the functions of that file, and keep it in front.
        """
        names: list[str] = []
        for index in range(bisect_left(self._sorted, prefix), len(self._sorted)):
            name = self._sorted[index]
            if not name.startswith(prefix) or len(names) == limit:
                break
            names.append(name)
        match = _QUALIFIED_PREFIX.match(prefix)
        if names or not match:
            return names
        found = (n for n in self.complete(match["name"], limit) if n in self._exact)
        return [
            f"{match['file']}:{name}"
            for name in found
            if any(_same_file(f.file, match["file"]) for f in self._exact[name])
        ]

    def _named(self, text: str) -> list[Function]:
        found = self._exact.get(text) or self._loose.get(text) or []
        return _unique(found)


def _unique(functions: Iterable[Function]) -> list[Function]:
    return sorted({f.address: f for f in functions}.values(), key=lambda f: f.address)


def _same_file(file: str | None, wanted: str) -> bool:
    return file is not None and (file == wanted or file.endswith("/" + wanted.lstrip("/")))
