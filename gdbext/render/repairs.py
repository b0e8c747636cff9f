# SPDX-License-Identifier: GPL-2.0-or-later
"""What the reconstruction had to repair, in one line; none if there was nothing.

Where something was cut, the limit is said in a line of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.render.numbers import amount
from gdbext.replay.calls import MAX_DEPTH, MAX_OPEN_CALLS, MAX_PATHS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdbext.render.page import Page

__all__ = ["render_repairs"]


def render_repairs(page: Page, repairs: Mapping[str, int]) -> None:
    """Print `Repairs: unmatched returns: 3, unwinds: 1`."""
    some = [f"{name.replace('_', ' ')}: {amount(n)}" for name, n in repairs.items() if n]
    if some:
        page.line(f"Repairs: {', '.join(some)}")
    if repairs.get("cut_calls"):
        page.line(
            f"  cut calls: deeper than {amount(MAX_DEPTH)}, or on a path beyond the first"
            f" {amount(MAX_PATHS)}; they count at the last call above that is in the tree"
        )
    if repairs.get("dropped_frames"):
        page.line(f"  dropped frames: more than {amount(MAX_OPEN_CALLS)} calls were open at once")
