# SPDX-License-Identifier: GPL-2.0-or-later
"""Colours for what is being typed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from prompt_toolkit.lexers import Lexer

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples

__all__ = ["CommandLexer", "coloured"]

_TOKEN: Final = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)
      | (?P<option>(?<!\S)--?[A-Za-z][\w-]*)
      | (?P<variable>\$[\w$]+)
      | (?P<number>\b(?:0x[0-9a-fA-F]+|\d+)\b)
      | (?P<word>[\w-]+)
      | (?P<other>\s+|.)""",
    re.VERBOSE,
)
_STYLES: Final = {
    "string": "ansigreen",
    "option": "ansicyan",
    "variable": "ansimagenta",
    "number": "ansiyellow",
}
_PREFIXES: Final = frozenset({"trace", "qtrace", "info", "set", "show", "monitor", "help"})


class CommandLexer(Lexer):
    """Commands bold, then strings, options, `$variables` and numbers."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """A function of the line number."""
        return lambda number: coloured(document.lines[number])


def coloured(line: str) -> StyleAndTextTuples:
    """One line in pieces of (style, text)."""
    pieces: StyleAndTextTuples = []
    # The command, and the one below it if it is a prefix.
    commands_left = 1
    for match in _TOKEN.finditer(line):
        style = _STYLES.get(match.lastgroup or "", "")
        if match.lastgroup == "word" and commands_left:
            style = "bold"
            commands_left -= 1
            if match[0] in _PREFIXES and not any(text.strip() for _, text, *_ in pieces):
                commands_left = 1
        elif match[0].strip():
            commands_left = 0
        pieces.append((style, match[0]))
    return pieces
