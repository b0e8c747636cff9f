# SPDX-License-Identifier: GPL-2.0-or-later
"""stop: end recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands.registry import command

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "stop",
    "End recording; what was recorded stays.",
    description="Nothing that is executed after the answer is recorded. `trace start` goes on.",
    doors=["gdb"],
    needs=["recorder"],
)
def stop(context: Context, options: argparse.Namespace) -> None:
    """Stop, and say whether it was off."""
    with context.control() as client:
        already = client.stop()
    context.page.line("not recording" if already else "recording stopped")
