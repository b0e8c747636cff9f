# SPDX-License-Identifier: GPL-2.0-or-later
"""start: begin recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands._filter import FILTER_ARGUMENTS, FILTER_HELP, filter_of
from gdbext.commands.registry import Argument, command
from gdbext.errors import UsageError
from gdbext.target.filter import set_filter

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "start",
    "Begin recording every executed instruction, on every vCPU.",
    description=(
        "Works at a stop and while the guest runs. What was recorded before stays; `trace clear`\n"
        f"forgets it.\n{FILTER_HELP}"
    ),
    arguments=[
        *FILTER_ARGUMENTS,
        Argument(
            "TEXT", "A note for the recording's mark, in quotes if it has spaces.", optional=True
        ),
    ],
    doors=["gdb"],
    needs=["recorder"],
)
def start(context: Context, options: argparse.Namespace) -> None:
    """Start, and say whether it was on."""
    # Whoever starts wants to see the live recording, not a loaded one.
    context.load(None, None)
    wanted = filter_of(options, context.elf())
    with context.control() as client:
        if client.status().recording:
            if wanted:
                raise UsageError("it records already; `trace stop` comes before another filter")
        else:
            set_filter(client, wanted)
            client.ring(options.ring or 0)
        started = client.start(options.text or "")
    vcpus = "1 vCPU" if started.vcpus == 1 else f"{started.vcpus} vCPUs"
    only = f" filtered by {wanted.text}" if wanted else ""
    context.page.line(f"recording {vcpus}{only}{' (was on already)' if started.already else ''}")
