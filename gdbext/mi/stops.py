# SPDX-License-Identifier: GPL-2.0-or-later
"""A stop of the program, from GDB's `*stopped` notification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Stop", "stop_of"]


@dataclass(frozen=True)
class Stop:
    """Where and why the program stands (GDB's manual, "GDB/MI Async Records")."""

    reason: str
    """GDB's word (`breakpoint-hit`, `signal-received`, ..); `lost` when QEMU has gone."""
    address: int | None = None
    function: str | None = None
    file: str | None = None
    line: int | None = None
    breakpoint: int | None = None
    """Number of the breakpoint or watchpoint that stopped it."""
    signal: str | None = None
    exit_status: int | None = None
    """Of a program that has ended."""

    @property
    def has_ended(self) -> bool:
        """The program is no more."""
        return self.reason.startswith("exited") or self.reason == "lost"

    @property
    def where(self) -> str:
        """`function at file:line`, as much of it as is known."""
        if self.address is None:
            return "nowhere"
        name = self.function or f"{self.address:#010x}"
        return f"{name} at {self.file}:{self.line}" if self.file and self.line else name

    def describe(self) -> str:
        """One line for people, without an end."""
        if self.reason == "lost":
            return "QEMU has gone"
        if self.has_ended:
            return f"the program has ended with status {self.exit_status}"
        why = self.reason or "stopped"
        if self.breakpoint is not None:
            why = f"{why} {self.breakpoint}"
        if self.signal and self.signal != "0":
            why = f"{why} {self.signal}"
        return f"{why} in {self.where}"


def stop_of(fields: Mapping[str, Any]) -> Stop:
    """The stop that a `*stopped` tells."""
    reason = str(fields.get("reason", ""))
    frame = fields.get("frame")
    frame = frame if isinstance(frame, dict) else {}
    status: int | None = None
    if reason.startswith("exited"):
        # Written in octal, as C does; absent when it is 0.
        code = fields.get("exit-code")
        status = int(str(code), 8) if code is not None else 0
        if reason == "exited-signalled":
            status = None
    number: object = fields.get("bkptno")
    for key in ("wpt", "hw-rwpt", "hw-awpt"):
        if isinstance(fields.get(key), dict):
            number = fields[key].get("number")
    address, line = str(frame.get("addr", "")), str(frame.get("line", ""))
    return Stop(
        reason=reason,
        address=int(address, 16) if address.startswith("0x") else None,
        function=_text(frame.get("func")),
        file=_text(frame.get("file")),
        line=int(line) if line.isdigit() else None,
        breakpoint=int(str(number)) if str(number).isdigit() else None,
        signal=_text(fields.get("signal-name")),
        exit_status=status,
    )


def _text(value: object) -> str | None:
    return str(value) if value else None
