# SPDX-License-Identifier: GPL-2.0-or-later
"""A program in a pseudo-terminal, and the screen that a terminal emulator (pyte) makes of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

import pexpect
import pyte

__all__ = ["CTRL_C", "CTRL_D", "Terminal"]

CTRL_C, CTRL_D, TAB, ENTER = "\x03", "\x04", "\t", "\r"
_TIMEOUT_S = 60.0


class _Screen(pyte.HistoryScreen):
    """Answers the questions that programs ask of terminals, such as where the cursor is."""

    answer: Callable[[str], object] = staticmethod(lambda text: None)

    def write_process_input(self, data: str) -> None:
        self.answer(data)


class Terminal:
    """Start a program, type, and wait for what the screen shows. Use it in `with`."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], columns: int = 100
    ) -> None:
        self._screen = _Screen(columns, 40, history=2000)
        self._stream = pyte.ByteStream(self._screen)
        self._process = pexpect.spawn(
            command[0],
            list(command[1:]),
            env={**environment, "TERM": "xterm-256color", "LANG": "C.UTF-8"},
            dimensions=(40, columns),
            timeout=_TIMEOUT_S,
        )
        self._process.delaybeforesend = None
        self._screen.answer = self._process.send
        self.has_ended = False

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.close(force=True)

    @property
    def pid(self) -> int:
        """The program's process id."""
        return int(self._process.pid)

    @property
    def text(self) -> str:
        """All that was shown, what has scrolled away too; line ends without blanks."""
        width = self._screen.columns
        old = [
            "".join(line[column].data for column in range(width)).rstrip()
            for line in self._screen.history.top
        ]
        return "\n".join([*old, *(line.rstrip() for line in self._screen.display)])

    def type(self, text: str) -> None:
        """Type keys."""
        self._process.send(text)

    def line(self, text: str) -> None:
        """Type a line."""
        self.type(text + ENTER)

    def paste(self, text: str) -> None:
        """Paste, as terminals do it (bracketed)."""
        self.type(f"\x1b[200~{text}\x1b[201~")

    def resize(self, columns: int) -> None:
        """Make the window another width."""
        self._screen.resize(40, columns)
        self._process.setwinsize(40, columns)

    def wait_for(self, wanted: str, count: int = 1) -> None:
        """Wait until the text was shown, `count` times."""
        self.wait_until(lambda: self.text.count(wanted) >= count, wanted)

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until the condition holds; `what` is for the failure."""
        deadline = time.monotonic() + _TIMEOUT_S
        while not condition():
            left = deadline - time.monotonic()
            assert left > 0 and not self.has_ended, f"never came: {what}\n{self.text}"
            self._read(min(left, 0.2))

    def wait_end(self) -> int:
        """Wait until the program has ended; its exit status."""
        deadline = time.monotonic() + _TIMEOUT_S
        while not self.has_ended:
            assert time.monotonic() < deadline, f"it does not end\n{self.text}"
            self._read(0.2)
        self._process.close()
        assert self._process.exitstatus is not None, f"signal {self._process.signalstatus}"
        return int(self._process.exitstatus)

    def _read(self, timeout_s: float) -> None:
        try:
            self._stream.feed(self._process.read_nonblocking(65536, timeout_s))
        except pexpect.TIMEOUT:
            pass
        except pexpect.EOF:
            self.has_ended = True
            os.set_blocking(self._process.child_fd, False)
