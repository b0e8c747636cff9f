# SPDX-License-Identifier: GPL-2.0-or-later
"""Macros that a source file may use: do their bodies hold `&&`, `||` or `?:`?

Nothing is preprocessed: of a macro that is defined several times each body counts, whatever `#if`
it is in.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence, Set

__all__ = ["Macros", "read_macros"]

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
_DEEPEST: Final = 40


class Macros:
    """Macros by name, each with all its bodies and their parameters."""

    def __init__(self) -> None:
        """There are none."""
        self._bodies: dict[str, list[tuple[frozenset[str], str]]] = {}

    def add(self, name: str, parameters: str | None, body: str) -> None:
        """Another definition."""
        names = frozenset(part.strip() for part in (parameters or "").split(","))
        self._bodies.setdefault(name, []).append((names, body))

    def update(self, other: Macros) -> None:
        """Take in all of another file."""
        for name, bodies in other._bodies.items():
            self._bodies.setdefault(name, []).extend(bodies)

    def hides_operators(self, name: str, known: Set[str]) -> bool:
        """Whether a definition of this name holds operators, or may. Args: as `is_plain`."""
        return name in self._bodies and not self.is_plain(name, known)

    def is_plain(self, name: str, known: Set[str], depth: int = 0) -> bool:
        """Whether a name certainly stands for no expression with operators of decisions.

        Args:
            known: names of variables, functions, types and enumerators.
        """
        if depth > _DEEPEST:
            return False
        bodies = self._bodies.get(name)
        if bodies is None:
            return name in known or name in _PLAIN
        for parameters, body in bodies:
            text = _TEXT.sub(" ", body)
            if "&&" in text or "||" in text or "?" in text or "##" in text:
                return False
            for other in _NAME.findall(text):
                if other in parameters or other == name:
                    continue
                if not self.is_plain(other, known, depth + 1):
                    return False
        return True


def read_macros(
    path: str, folders: Iterable[str], lines_of: Callable[[str], Sequence[str]]
) -> Macros:
    """The macros of a file and of what it includes, as far as that is found.

    Args:
        folders: where includes are looked for, beside the folder of the file that has them.
        lines_of: the lines of a file; none if there is no such file.
    """
    found = Macros()
    places = list(dict.fromkeys(folders))
    todo, seen = [path], {path}
    while todo:
        file = todo.pop()
        text = _COMMENT.sub(" ", "\n".join(lines_of(file)))
        for match in _LINE.finditer(text):
            if match["name"] is not None:
                found.add(match["name"], match["parameters"], match["body"])
                continue
            for folder in (posixpath.dirname(file), *places):
                other = posixpath.normpath(posixpath.join(folder, match["include"]))
                if other in seen:
                    break
                if lines_of(other):
                    seen.add(other)
                    todo.append(other)
                    break
    return found
