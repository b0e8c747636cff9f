# SPDX-License-Identifier: GPL-2.0-or-later
"""What the reconstruction had to repair, by kind; 0 everywhere means that all of it is certain."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from gdbext.replay.calls import MAX_DEPTH, MAX_OPEN_CALLS, MAX_PATHS

if TYPE_CHECKING:
    from gdbext.analyses.program import Program

__all__ = ["TREE_LIMITS", "repairs_of"]

TREE_LIMITS: Final = MappingProxyType(
    {"depth": MAX_DEPTH, "paths": MAX_PATHS, "open_calls": MAX_OPEN_CALLS}
)
"""How much the tree of calls holds: levels, nodes, and calls that are open at once."""

# Fields of Stats; the others count what is ordinary (traps, switches, device accesses).
_REPAIRS: Final = (
    "ambiguous",
    "late_switches",
    "unmatched_returns",
    "above_start",
    "unwinds",
    "ambiguous_unwinds",
    "middle_entries",
    "abandoned",
    "unexplained",
    "dropped_contexts",
    "dropped_frames",
    "gaps",
    "filtered",
)


def repairs_of(program: Program) -> dict[str, int]:
    """Counts by kind, zeros included; docs/reconstruction.md says what each kind is."""
    stats = program.tables.stats
    counts = {name: int(getattr(stats, name)) for name in _REPAIRS}
    return {**counts, "cut_calls": program.calls.cut_calls}
