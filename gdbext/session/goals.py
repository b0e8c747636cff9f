# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program can be run until."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from gdbext.errors import ExpectationError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdbext.mi.guest import GuestConsole
    from gdbext.mi.stops import Stop

__all__ = ["ConsoleGoal", "ExitGoal", "Goal", "InsnsGoal", "PlaceGoal", "TimeGoal"]


class Goal(ABC):
    """Something to reach while the program runs."""

    poll_s: float | None = None
    """How often to ask `is_reached`; None: whenever anything happens."""

    def __init__(self, name: str) -> None:
        """Args: name: for people, in "NAME is not reached"."""
        self.name = name

    @abstractmethod
    def is_reached(self) -> bool:
        """Whether the program is to be stopped now."""

    def is_noticed(self) -> bool:
        """Whether what has just come asks for a look; a cheap `is_reached`."""
        return False

    def remark(self) -> str:
        """What is to be said about where the program was stopped; empty: nothing."""
        return ""

    def judge(self, stop: Stop) -> Stop:
        """The program stopped by itself: return the stop if that is the goal.

        Raises:
            ExpectationError: it is not.
        """
        raise ExpectationError(f"{stop.describe()} before {self.name} was reached")


class PlaceGoal(Goal):
    """A place in the program, where a breakpoint is set for it."""

    def __init__(self, place: str, number: int, was_hit: Callable[[], bool]) -> None:
        """Args: number: of the temporary breakpoint; was_hit: whether GDB has taken it out."""
        super().__init__(place)
        self.number = number
        self._was_hit = was_hit

    def is_reached(self) -> bool:
        return False

    def judge(self, stop: Stop) -> Stop:
        if stop.breakpoint == self.number:
            return stop
        # Of several breakpoints at one place GDB names the first.
        if stop.breakpoint is not None and self._was_hit():
            return stop
        return super().judge(stop)


class ConsoleGoal(Goal):
    """A text on the guest's console."""

    def __init__(self, shown: str, guest: GuestConsole, pattern: str, read_until: int) -> None:
        """Args: read_until: bytes of the console that were looked at before."""
        super().__init__(f"console output {shown!r}")
        self._guest = guest
        self.read_until = read_until
        self._seen = -1
        self._found = False
        try:
            self._pattern = re.compile(pattern.encode(), re.MULTILINE)
        except re.error as error:
            raise UsageError(f"'{pattern}' is no regular expression: {error}") from None

    def is_reached(self) -> bool:
        if not self._found and self._guest.size_bytes != self._seen:
            self._seen = self._guest.size_bytes
            match = self._pattern.search(self._guest.bytes_since(self.read_until))
            if match is not None:
                self._found = True
                self.read_until += match.end()
        return self._found

    def is_noticed(self) -> bool:
        return self.is_reached()

    def judge(self, stop: Stop) -> Stop:
        return stop if self.is_reached() else super().judge(stop)


class InsnsGoal(Goal):
    """A number of recorded instructions."""

    poll_s = 0.02

    def __init__(self, insns: int, recorded: Callable[[], int]) -> None:
        super().__init__(f"{insns:,} instructions")
        self._recorded = recorded
        self._wanted = recorded() + insns

    def is_reached(self) -> bool:
        return self._recorded() >= self._wanted

    def remark(self) -> str:
        return f"{max(self._recorded() - self._wanted, 0):,} instructions more than asked for"


class TimeGoal(Goal):
    """A time of the host."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"{seconds:g} s")
        self.poll_s = seconds
        self._end = time.monotonic() + seconds

    def is_reached(self) -> bool:
        return time.monotonic() >= self._end


class ExitGoal(Goal):
    """The program's end."""

    def __init__(self, status: int | None) -> None:
        """Args: status: that it must have; None: any."""
        super().__init__("the program's end")
        self._status = status

    def is_reached(self) -> bool:
        return False

    def judge(self, stop: Stop) -> Stop:
        if not stop.has_ended:
            return super().judge(stop)
        if self._status is not None and stop.exit_status != self._status:
            raise ExpectationError(
                f"the program ended with status {stop.exit_status}; expected {self._status}"
            )
        return stop
