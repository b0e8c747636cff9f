# SPDX-License-Identifier: GPL-2.0-or-later
"""Which breakpoints GDB has, kept outside it: a new GDB is given the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Breakpoint", "BreakpointTable"]

# GDB's word for the type: the command that sets such a one.
_COMMANDS: Final = {
    "breakpoint": "break",
    "hw breakpoint": "hbreak",
    "hw watchpoint": "watch",
    "watchpoint": "watch",
    "read watchpoint": "rwatch",
    "acc watchpoint": "awatch",
}
_TEMPORARY: Final = {"break": "tbreak", "hbreak": "thbreak"}


@dataclass(frozen=True)
class Breakpoint:
    """A breakpoint or watchpoint as GDB reports it (GDB's manual, "Breakpoint Information")."""

    number: int
    kind: str
    """GDB's word: `breakpoint`, `hw watchpoint`, .."""
    where: str
    """The location or expression, as it was typed."""
    condition: str
    temporary: bool
    enabled: bool
    ignored: int
    """Hits that are passed over before it stops."""
    script: tuple[str, ...]
    """GDB commands that run when it stops."""

    def commands(self) -> list[str] | None:
        """GDB commands that set it again, `$bpnum` being its new number; None if none can."""
        word = _COMMANDS.get(self.kind)
        if word is None or not self.where:
            return None
        if self.temporary:
            word = _TEMPORARY.get(word, word)
        condition = f" if {self.condition}" if self.condition else ""
        commands = [f"{word} {self.where}{condition}"]
        if self.ignored:
            commands.append(f"ignore $bpnum {self.ignored}")
        if not self.enabled:
            commands.append("disable $bpnum")
        if self.script:
            commands += ["commands $bpnum", *self.script, "end"]
        return commands


class BreakpointTable:
    """The breakpoints, by number, as GDB's answers and notifications tell them."""

    def __init__(self) -> None:
        self._known: dict[int, Breakpoint] = {}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, number: int) -> Breakpoint | None:
        """The breakpoint of that number."""
        return self._known.get(number)

    def all(self) -> list[Breakpoint]:
        """Every one, by number."""
        return [self._known[number] for number in sorted(self._known)]

    def clear(self) -> None:
        """Forget all."""
        self._known.clear()

    def take(self, fields: Mapping[str, Any]) -> int | None:
        """Take in a `bkpt={...}`; the number, or None if it is about a part of one (`1.2`)."""
        reported = fields.get("bkpt")
        if isinstance(reported, list):
            reported = reported[0] if reported else None
        if not isinstance(reported, dict) or not str(reported.get("number", "")).isdigit():
            return None
        number = int(reported["number"])
        script = reported.get("script", ())
        lines = script.values() if isinstance(script, dict) else script
        self._known[number] = Breakpoint(
            number=number,
            kind=str(reported.get("type", "")),
            where=str(reported.get("original-location") or reported.get("what") or ""),
            condition=str(reported.get("cond", "")),
            temporary=reported.get("disp") == "del",
            enabled=reported.get("enabled", "y") == "y",
            ignored=int(reported.get("ignore", 0)),
            script=tuple(str(line) for line in ([lines] if isinstance(lines, str) else lines)),
        )
        return number

    def remove(self, number: str) -> None:
        """Take out what GDB has deleted."""
        if number.isdigit():
            self._known.pop(int(number), None)
