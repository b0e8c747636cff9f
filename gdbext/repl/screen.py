# SPDX-License-Identifier: GPL-2.0-or-later
"""What is shown: GDB's words, the guest's console in lines of its own, and our messages."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["GUEST_MARK", "Screen"]

GUEST_MARK: Final = "target| "
"""Begins every line that the guest wrote, where these share the screen with GDB's."""

_DIM, _RED, _RESET = "\x1b[2m", "\x1b[31m", "\x1b[0m"

Speaker = Literal["gdb", "guest"]


class Screen:
    """Two speakers on one screen, whose lines never mix."""

    def __init__(
        self,
        out: TextIO | None = None,
        err: TextIO | None = None,
        *,
        console: TextIO | None = None,
        colour: bool = False,
    ) -> None:
        """Args:
        out, err: None: what `sys.stdout` and `sys.stderr` are at each time.
        console: where the guest's output goes instead, as it is.
        """
        self._out, self._err = out, err
        self._console = console
        self._colour = colour
        self._open_line: Speaker | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._guest_rest = ""
        self.whole_lines = True
        """The guest's lines are shown when they are complete; else as they come."""

    def gdb(self, text: str) -> None:
        """Show what GDB said."""
        if text:
            self._turn("gdb")
            self._write(text)
            self._open_line = None if text.endswith("\n") else "gdb"

    def guest(self, data: bytes) -> None:
        """Show what the guest wrote."""
        text = self._decoder.decode(data)
        if self._console is not None:
            self._console.write(text)
            self._console.flush()
            return
        # A terminal of the guest's would take them as they are; here they would harm the screen.
        text = self._guest_rest + text.replace("\r", "").replace("\x1b", "^[")
        if self.whole_lines:
            *lines, self._guest_rest = text.split("\n")
            for line in lines:
                self._guest_piece(line + "\n")
            return
        self._guest_rest = ""
        for piece in text.splitlines(keepends=True):
            self._guest_piece(piece)

    def flush_guest(self) -> None:
        """Show what the guest has left without a line end."""
        if self._guest_rest:
            rest, self._guest_rest = self._guest_rest, ""
            self._guest_piece(rest)

    def line_start(self) -> None:
        """Begin a new line if one is open."""
        if self._open_line is not None:
            self._write("\n")
            self._open_line = None

    def note(self, text: str) -> None:
        """Show a line of ours."""
        self.line_start()
        self._write(f"{_DIM}{text}{_RESET}\n" if self._colour else f"{text}\n")

    def error(self, text: str) -> None:
        """Show a line about something that went wrong, on standard error."""
        import sys

        self.line_start()
        stream = self._err if self._err is not None else sys.stderr
        stream.write(f"{_RED}{text}{_RESET}\n" if self._colour else f"{text}\n")
        stream.flush()

    def _guest_piece(self, text: str) -> None:
        begins = self._open_line != "guest"
        self._turn("guest")
        mark = GUEST_MARK if begins else ""
        shown = f"{_DIM}{mark}{_RESET}" if self._colour and mark else mark
        self._write(shown + text)
        self._open_line = None if text.endswith("\n") else "guest"

    def _turn(self, speaker: Speaker) -> None:
        if self._open_line not in (None, speaker):
            self.line_start()

    def _write(self, text: str) -> None:
        import sys

        stream = self._out if self._out is not None else sys.stdout
        stream.write(text)
        stream.flush()
