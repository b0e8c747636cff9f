# SPDX-License-Identifier: GPL-2.0-or-later
"""clear: forget what was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands.registry import command

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "clear",
    "Forget what was recorded; a recording that is on goes on from here.",
    doors=["gdb"],
    needs=["recorder"],
)
def clear(context: Context, options: argparse.Namespace) -> None:
    """Forget the live recording."""
    with context.control() as client:
        client.clear()
        recording = client.status().recording
    context.page.line("cleared; recording goes on" if recording else "cleared")
