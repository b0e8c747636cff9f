# SPDX-License-Identifier: GPL-2.0-or-later
"""What the reconstruction had to repair, by kind; 0 everywhere means that all of it is certain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gdbext.analyses.program import Program

__all__ = ["repairs_of"]

# Fields of Stats; the others count what is ordinary (traps, switches, device accesses).
_REPAIRS: Final = (
    "ambiguous",
    "late_switches",
    "unmatched_returns",
    "above_start",
    "unwinds",
    "middle_entries",
    "abandoned",
    "unexplained",
    "dropped_contexts",
    "dropped_frames",
    "gaps",
)


def repairs_of(program: Program) -> dict[str, int]:
    """Counts by kind, zeros included; docs/reconstruction.md says what each kind is."""
    stats = program.tables.stats
    counts = {name: int(getattr(stats, name)) for name in _REPAIRS}
    return {**counts, "cut_calls": program.calls.cut_calls}
