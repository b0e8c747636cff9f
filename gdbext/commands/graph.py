# SPDX-License-Identifier: GPL-2.0-or-later
"""graph: the call graph as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.analyses.tree import Pruning
from gdbext.commands._options import DEPTH, JSON, MIN_PERCENT, PROGRAM, RECORDING, count
from gdbext.commands._pictures import PICTURE, draw_graph
from gdbext.commands.context import print_json
from gdbext.commands.registry import Argument, command
from gdbext.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "graph",
    "Draw the call graph: functions with their calls and share, arrows with counts.",
    description=(
        "Colour is self cost; handlers of interrupts and exceptions have borders of their own,\n"
        "tail calls are dashed. Counts are always those of the whole recording."
    ),
    arguments=[
        RECORDING,
        Argument(
            "--root",
            "Only what this function, and what it called, called.",
            metavar="F",
            completes="function",
        ),
        DEPTH,
        MIN_PERCENT,
        Argument(
            "--top",
            "Functions shown, the costliest (default 60; all with --json).",
            metavar="N",
            parse=count,
        ),
        PICTURE,
        JSON,
        *PROGRAM,
    ],
    needs=["recording"],
)
def graph(context: Context, options: argparse.Namespace) -> None:
    """Draw the graph."""
    if options.o is None and not options.json:
        raise UsageError("graph: give the picture to write, -o FILE.svg or FILE.dot, or --json")
    top = options.top or (60 if options.o else None)
    pruning = Pruning(options.depth, options.min_percent or 0.0, top)
    result = context.asked(options).graph(options.root, pruning)
    if options.o is not None:
        draw_graph(context, options.o, result)
    if options.json:
        print_json(context, "graph", result.to_json())
