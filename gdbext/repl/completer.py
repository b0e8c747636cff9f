# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion: GDB knows its commands, those below `trace`, symbols and files; we add our few."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prompt_toolkit.completion import Completer, Completion

from gdbext.errors import GdbextError
from gdbext.mi.records import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from gdbext.mi.debugger import Debugger

__all__ = ["GdbCompleter", "completions"]

MAX_SHOWN: Final = 200
_TIMEOUT_S: Final = 5.0


class GdbCompleter(Completer):
    """Asks GDB, in its command `-complete`."""

    def __init__(self, debugger: Callable[[], Debugger], own: Iterable[str]) -> None:
        """Args: own: the words that we take before GDB."""
        self._debugger = debugger
        self._own = tuple(own)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """What may stand at the cursor."""
        line = document.current_line_before_cursor.lstrip()
        for text in completions(self._debugger(), self._own, line):
            yield Completion(text, start_position=-len(line), display=_last_word(line, text))


def completions(debugger: Debugger, own: Iterable[str], line: str) -> list[str]:
    """Whole lines that begin with `line`, ours first; nothing where GDB cannot be asked now."""
    found = [word for word in own if line and " " not in line and word.startswith(line)]
    # A program in the foreground keeps GDB from listening.
    if not line or not debugger.is_alive or debugger.is_busy or not debugger.is_listening:
        return found
    try:
        answer = debugger.command(f"-complete {quoted(line)}", _TIMEOUT_S)
    except GdbextError:
        # GDB cannot complete this; the command itself will say what is wrong.
        return found
    matches = answer.get("matches", [])
    found += [str(match) for match in matches if str(match) not in found]
    return found[:MAX_SHOWN]


def _last_word(line: str, text: str) -> str:
    """The part of a completed line that is worth showing: from the word being typed on."""
    return text[line.rfind(" ") + 1 :]
