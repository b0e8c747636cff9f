# SPDX-License-Identifier: GPL-2.0-or-later
"""Macros that a source file may use: do their bodies hold `&&`, `||` or `?:`?

Nothing is preprocessed: of a macro that is defined several times each body counts, whatever `#if`
it is in.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence, Set

__all__ = ["MacroReader", "Macros"]

_LINE: Final = re.compile(
    r'^[ \t]*#[ \t]*(?:include[ \t]*[<"](?P<include>[^>"\n]+)[>"]'
    r"|define[ \t]+(?P<name>\w+)(?:\((?P<parameters>[^)]*)\))?(?P<body>(?:\\\n|[^\n])*))",
    re.MULTILINE,
)
_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_TEXT: Final = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'')
_NAME: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_PLAIN: Final = frozenset(
    (
        "NULL", "nullptr", "true", "false", "this", "const", "volatile", "struct", "union", "enum",
        "int", "unsigned", "signed", "char", "short", "long", "float", "double", "void", "bool",
        "_Bool", "sizeof", "static_cast", "reinterpret_cast", "const_cast",
    )
)  # fmt: skip
"""Names that hide no operators, though debug information does not have them."""


class _File(NamedTuple):
    """What one file defines (name, parameters, body) and includes."""

    defines: tuple[tuple[str, str | None, str], ...]
    includes: tuple[str, ...]


class Macros:
    """Macros by name, each with all its bodies and their parameters."""

    def __init__(self) -> None:
        """There are none."""
        self._bodies: dict[str, list[tuple[frozenset[str], str]]] = {}
        self._plain: dict[tuple[int, str], bool] = {}

    def add(self, name: str, parameters: str | None, body: str) -> None:
        """Another definition."""
        names = frozenset(part.strip() for part in (parameters or "").split(","))
        self._bodies.setdefault(name, []).append((names, body))

    def hides_operators(self, name: str, known: Set[str]) -> bool:
        """Whether a definition of this name holds operators, or may. Args: as `is_plain`."""
        return name in self._bodies and not self.is_plain(name, known)

    def is_plain(self, name: str, known: Set[str]) -> bool:
        """Whether a name certainly stands for no expression with operators of decisions.

        Args:
            known: names of variables, functions, types and enumerators; the set stays as it is.
        """
        bodies = self._bodies.get(name)
        if bodies is None:
            return name in known or name in _PLAIN
        key = id(known), name
        if key not in self._plain:
            self._plain[key] = False  # of one that leads back to itself through others
            self._plain[key] = all(
                self._is_plain_body(name, parameters, body, known) for parameters, body in bodies
            )
        return self._plain[key]

    def _is_plain_body(
        self, name: str, parameters: frozenset[str], body: str, known: Set[str]
    ) -> bool:
        text = _TEXT.sub(" ", body)
        if any(mark in text for mark in ("&&", "||", "?", "##")):
            return False
        return all(
            other in parameters or other == name or self.is_plain(other, known)
            for other in _NAME.findall(text)
        )


class MacroReader:
    """Reads files once, whoever includes them."""

    def __init__(self, folders: Iterable[str], lines_of: Callable[[str], Sequence[str]]) -> None:
        """Nothing is read yet.

        Args:
            folders: where includes are looked for, beside the folder of the file that has them.
            lines_of: the lines of a file; none if there is no such file.
        """
        self._folders = tuple(dict.fromkeys(folders))
        self._lines_of = lines_of
        self._files: dict[str, _File | None] = {}

    def read(self, path: str) -> Macros:
        """The macros of a file and of what it includes, as far as that is found."""
        found = Macros()
        todo, seen = [path], {path}
        while todo:
            at = todo.pop()
            file = self._file(at)
            if file is None:
                continue
            for define in file.defines:
                found.add(*define)
            for name in file.includes:
                for folder in (posixpath.dirname(at), *self._folders):
                    other = posixpath.normpath(posixpath.join(folder, name))
                    if other in seen or self._file(other) is not None:
                        if other not in seen:
                            seen.add(other)
                            todo.append(other)
                        break
        return found

    def _file(self, path: str) -> _File | None:
        if path not in self._files:
            lines = self._lines_of(path)
            self._files[path] = _scan("\n".join(lines)) if lines else None
        return self._files[path]


def _scan(text: str) -> _File:
    matches = list(_LINE.finditer(_COMMENT.sub(" ", text)))
    return _File(
        tuple((m["name"], m["parameters"], m["body"]) for m in matches if m["name"] is not None),
        tuple(m["include"] for m in matches if m["include"] is not None),
    )
