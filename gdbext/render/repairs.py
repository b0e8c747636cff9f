# SPDX-License-Identifier: GPL-2.0-or-later
"""What the reconstruction had to repair, in one line; none if there was nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdbext.render.page import Page

__all__ = ["render_repairs"]


def render_repairs(page: Page, repairs: Mapping[str, int]) -> None:
    """Print `Repairs: unmatched returns: 3, unwinds: 1`."""
    some = [f"{name.replace('_', ' ')}: {amount(n)}" for name, n in repairs.items() if n]
    if some:
        page.line(f"Repairs: {', '.join(some)}")
