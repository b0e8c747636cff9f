# SPDX-License-Identifier: GPL-2.0-or-later
"""What GDB writes on its machine interface, line by line.

Grammar: GDB's manual, "GDB/MI Output Syntax". The parser is pygdbmi's; its reader and writer are
not used (`process.py` says why).
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pygdbmi.gdbmiparser import parse_response

__all__ = ["Kind", "Record", "parse_record", "quoted"]

Kind = Literal["result", "notify", "console", "log", "target", "output", "done"]

_KINDS: Final[dict[str, Kind]] = {
    "result": "result",
    "notify": "notify",
    "console": "console",
    "log": "log",
    "target": "target",
    "done": "done",
}

# It would print about lines that are cut, which are dealt with here.
logging.getLogger("pygdbmi.gdbmiparser").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Record:
    """One line of GDB's.

    Attributes:
        kind: `result` of a command, `notify` (asynchronous), text of the `console` or `log`
            stream, `done` (the line `(gdb)`), or `output` that is no MI at all.
        token: the number that the command began with, in its result; None elsewhere.
        message: the class of a result or notification: `done`, `error`, `stopped`, ..
        text: of console, log, target and output lines.
        fields: of results and notifications.
    """

    kind: Kind
    token: int | None = None
    message: str = ""
    text: str = ""
    fields: dict[str, Any] = field(default_factory=dict)


def parse_record(line: bytes) -> Record:
    """One line without its line end; what cannot be parsed is `output` with the line as text."""
    text = _SCRIPT.sub(r"script=[\1]", line.decode(errors="replace"))
    if not _is_whole(text):
        return Record("output", text=text)
    try:
        parsed = parse_response(text)
    except (ValueError, IndexError, KeyError, TypeError):
        # Something else wrote it to GDB's standard output: `shell` commands do.
        result = _RESULT.match(text)
        if result is not None:
            # Somebody waits for this one, whatever is in it.
            return Record("result", int(result[1]), result[2])
        return Record("output", text=text)
    kind = _KINDS.get(parsed["type"], "output")
    payload = parsed.get("payload")
    return Record(
        kind=kind,
        token=parsed.get("token"),
        message=parsed.get("message") or "",
        text=payload if isinstance(payload, str) else "",
        fields=payload if isinstance(payload, dict) else {},
    )


def quoted(text: str) -> str:
    """The text as MI's c-string, the form of an argument with blanks or quotes."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(letter, letter) for letter in text) + '"'


def _is_whole(text: str) -> bool:
    """Whether every bracket of a result or notification is closed; the parser would not end."""
    if not _STRUCTURED.match(text):
        return True
    rest = _STRING.sub("", text)
    open_brackets = []
    for letter in rest:
        if letter in "{[":
            open_brackets.append("}" if letter == "{" else "]")
        elif letter in "}]" and (not open_brackets or open_brackets.pop() != letter):
            return False
    return not open_brackets and '"' not in rest


# Up to MI 3 the commands of a breakpoint are a list in the wrong brackets.
_SCRIPT: Final = re.compile(r'\bscript=\{((?:"(?:[^"\\]|\\.)*",?)*)\}')
_RESULT: Final = re.compile(r"(\d+)\^([a-z]+)")
_STRUCTURED: Final = re.compile(r"\d*[\^*=+]")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
