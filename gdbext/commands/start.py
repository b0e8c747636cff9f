# SPDX-License-Identifier: GPL-2.0-or-later
"""start: begin recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands.registry import Argument, command

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "start",
    "Begin recording every executed instruction, on every vCPU.",
    description=(
        "Works at a stop and while the guest runs. What was recorded before stays; `trace clear`\n"
        "forgets it."
    ),
    arguments=[
        Argument(
            "TEXT", "A note for the recording's mark, in quotes if it has spaces.", optional=True
        )
    ],
    doors=["gdb"],
    needs=["recorder"],
)
def start(context: Context, options: argparse.Namespace) -> None:
    """Start, and say whether it was on."""
    # Whoever starts wants to see the live recording, not a loaded one.
    context.load(None, None)
    with context.control() as client:
        started = client.start(options.text or "")
    vcpus = "1 vCPU" if started.vcpus == 1 else f"{started.vcpus} vCPUs"
    context.page.line(f"recording {vcpus}{' (was on already)' if started.already else ''}")
