# SPDX-License-Identifier: GPL-2.0-or-later
"""C and C++ source as tokens with places, comments and preprocessor lines left out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Place", "Token", "Tokens", "tokenize"]


class Place(NamedTuple):
    """A character of a source file: line and column from 1; columns count bytes, as DWARF's do."""

    line: int
    column: int


class Token(NamedTuple):
    """A word, number, string or operator."""

    kind: str
    """`name`, `number`, `string` or `op`."""
    text: str
    start: Place
    end: Place
    """Of its last character."""


@dataclass
class Tokens:
    """A file's tokens, and which brackets belong together."""

    items: list[Token]
    partner: dict[int, int] = field(default_factory=dict)
    """By index of a bracket: that of its other one. One without is not there."""

    def text(self, first: int, end: int) -> str:
        """The tokens [first, end) as one line of source."""
        out = ""
        for index in range(first, end):
            item = self.items[index]
            before = self.items[index - 1] if index > first else None
            if before is not None and item.start != (before.end.line, before.end.column + 1):
                out += " "
            out += item.text
        return out


_TOKEN: Final = re.compile(
    r"""(?P<skip>[ \t\r\f\v]+|\\\r?\n|//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
      | (?P<line>\n)
      | (?P<string>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
          | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | [uUL]?'(?:\\.|[^'\\\n])*')
      | (?P<name>[A-Za-z_$\x80-\xff][\w$\x80-\xff]*)
      | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
      | (?P<op><<=|>>=|->\*|\.\.\.|->|::|\+\+|--|&&|\|\||[=!<>+*/%&|^-]=|<<|>>|.)""",
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE: Final = re.compile(r"[ \t]*#(?:\\\r?\n|/\*.*?\*/|[^\n])*", re.DOTALL)
_OPEN: Final = {"(": ")", "[": "]", "{": "}"}
_WORDS: Final = {"and": "&&", "or": "||", "not": "!"}


def tokenize(lines: Sequence[str], *, cplusplus: bool) -> Tokens:
    """Read a file.

    Args:
        lines: without their ends.
        cplusplus: `and`, `or` and `not` are operators.
    """
    text = "\n".join(lines).encode("utf-8", "replace").decode("latin-1")
    found = Tokens([])
    at, line, begin = 0, 1, 0
    fresh = True  # nothing but space since the line began
    while at < len(text):
        directive = _DIRECTIVE.match(text, at) if fresh else None
        match = directive or _TOKEN.match(text, at)
        assert match is not None  # the last alternative takes any character
        part = match[0]
        if directive is None and match["skip"] is None and match["line"] is None:
            fresh = False
            start = Place(line, at - begin + 1)
            lines_in = part.count("\n")
            width = len(part) - part.rfind("\n") - 1
            end = Place(line + lines_in, width if lines_in else start.column + len(part) - 1)
            kind = match.lastgroup if match["string"] is None else "string"
            word = _WORDS.get(part) if cplusplus else None
            item = Token("op" if word else kind or "op", word or part, start, end)
            found.items.append(item)
        newlines = part.count("\n")
        if newlines:
            line += newlines
            begin = at + part.rfind("\n") + 1
            fresh = fresh or match.groupdict().get("line") is not None
        at = match.end()
        if directive is not None:
            fresh = True
    _pair(found)
    return found


def _pair(found: Tokens) -> None:
    stack: list[int] = []
    for index, item in enumerate(found.items):
        if item.kind != "op":
            continue
        if item.text in _OPEN:
            stack.append(index)
        elif item.text in (")", "]", "}"):
            # After an `#if` with two halves brackets may be left over: those are given up.
            while stack and _OPEN[found.items[stack[-1]].text] != item.text:
                if item.text != "}":
                    break
                stack.pop()
            if stack and _OPEN[found.items[stack[-1]].text] == item.text:
                other = stack.pop()
                found.partner[other], found.partner[index] = index, other
