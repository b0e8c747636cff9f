# SPDX-License-Identifier: GPL-2.0-or-later
"""interrupts: handlers, how often and how long they ran, whom they interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands._options import JSON, PROGRAM, RECORDING, count
from gdbext.commands.context import print_json
from gdbext.commands.registry import Argument, command
from gdbext.render.interrupts import render_interrupts

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "interrupts",
    "Tell of each handler of interrupts and exceptions how often and how long it ran.",
    description=(
        "Times are instructions of complete runs, without handlers that interrupted them. Nesting\n"
        "is 1 for a handler that never interrupted another one; the period is the median number\n"
        "of instructions between two entries."
    ),
    arguments=[
        RECORDING,
        Argument("--top", "Handlers shown (default 20).", metavar="N", parse=count),
        JSON,
        *PROGRAM,
    ],
    needs=["recording"],
)
def interrupts(context: Context, options: argparse.Namespace) -> None:
    """Print the handlers."""
    report = context.asked(options).interrupts()
    if options.json:
        print_json(context, "interrupts", report.to_json())
    else:
        render_interrupts(context.page, report, options.top or 20)
