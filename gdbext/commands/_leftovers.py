# SPDX-License-Identifier: GPL-2.0-or-later
"""Telling people of recordings that ended sessions left behind."""

from __future__ import annotations

import sys

from gdbext.render.numbers import bytes_amount
from gdbext.target.leftovers import sweep

__all__ = ["tell_leftovers"]


def tell_leftovers() -> None:
    """Clear away what dead sessions left, and name on stderr, a line each, what can be saved."""
    for leftover in sweep():
        print(
            f"gdbext: {leftover.directory}: left by a session that has ended "
            f"({bytes_amount(leftover.size_bytes)}): `gdbext analyze` reads it; "
            "remove it when it is of no use",
            file=sys.stderr,
        )
