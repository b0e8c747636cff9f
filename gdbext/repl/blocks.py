# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a command ends: most with their line, `define`, `commands` and the like with `end`."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["Blocks", "is_open"]

_OPENERS: Final = re.compile(
    r"\s*(?:define(?:-prefix)?|document|commands|if|while|while-stepping|stepping|ws)\b"
)
# `python CODE` is one line; alone it opens a block, in which only `end` counts.
_PYTHON: Final = re.compile(r"\s*(?:python|py|python-interactive|pi|guile|gu)\s*$")
_END: Final = re.compile(r"\s*end\s*$")


class Blocks:
    """Puts lines together until a command is whole."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._is_code = False

    @property
    def is_open(self) -> bool:
        """Whether more lines are wanted."""
        return self._depth > 0 or self._is_code

    def add(self, line: str) -> str | None:
        """Take a line; the whole command if it is complete now, of several lines perhaps."""
        self._lines.append(line)
        if self._is_code:
            if _END.match(line):
                self._is_code = False
        elif _PYTHON.match(line):
            self._is_code = True
        elif _OPENERS.match(line):
            self._depth += 1
        elif self._depth and _END.match(line):
            self._depth -= 1
        if self.is_open:
            return None
        command = "\n".join(self._lines)
        self._lines.clear()
        return command


def is_open(text: str) -> bool:
    """Whether a text ends in the middle of a command."""
    blocks = Blocks()
    for line in text.splitlines():
        blocks.add(line)
    return blocks.is_open
