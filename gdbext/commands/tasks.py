# SPDX-License-Identifier: GPL-2.0-or-later
"""tasks: what a scheduler switched between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands._options import JSON, PROGRAM, RECORDING, count
from gdbext.commands.context import print_json
from gdbext.commands.registry import Argument, command
from gdbext.render.interrupts import render_tasks

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "tasks",
    "List the tasks: instructions, switches, longest run.",
    description=(
        "A task is named by the function it began with. Without a scheduler there is one: what\n"
        "ran first."
    ),
    arguments=[
        RECORDING,
        Argument("--top", "Tasks shown (default 20).", metavar="N", parse=count),
        JSON,
        *PROGRAM,
    ],
    needs=["recording"],
)
def tasks(context: Context, options: argparse.Namespace) -> None:
    """Print the tasks."""
    report = context.asked(options).tasks()
    if options.json:
        print_json(context, "tasks", report.to_json())
    else:
        render_tasks(context.page, report, options.top or 20)
