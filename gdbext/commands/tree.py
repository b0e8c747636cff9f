# SPDX-License-Identifier: GPL-2.0-or-later
"""tree: the calling-context tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.analyses.tree import Pruning
from gdbext.commands._options import (
    DEPTH,
    JSON,
    MIN_PERCENT,
    NO_INLINED,
    PROGRAM,
    RECORDING,
    count,
)
from gdbext.commands._pictures import PICTURE, draw_tree
from gdbext.commands.context import print_json
from gdbext.commands.registry import Argument, command
from gdbext.render.tree import render_tree

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "tree",
    "Show the tree of calls: who ran below whom, how often, for how long, how deep.",
    description=(
        "Tasks and handlers of interrupts and exceptions are at the top; a handler is never part\n"
        "of what it interrupted. With FUNCTION: what ran below it, all its activations in one."
    ),
    arguments=[
        RECORDING,
        Argument(
            "FUNCTION",
            "The function: NAME, FILE:NAME or 0xADDRESS.",
            optional=True,
            completes="function",
        ),
        DEPTH,
        MIN_PERCENT,
        Argument(
            "--top",
            "Paths shown, the costliest (default 40; 60 with -o; all with --json).",
            metavar="N",
            parse=count,
        ),
        PICTURE,
        NO_INLINED,
        JSON,
        *PROGRAM,
    ],
    needs=["recording"],
)
def tree(context: Context, options: argparse.Namespace) -> None:
    """Print or draw the tree."""
    top = options.top or (None if options.json else 60 if options.o else 40)
    pruning = Pruning(options.depth, options.min_percent or 0.0, top)
    workspace = context.asked(options)
    result = workspace.tree(options.function, pruning, inlined=not options.no_inlined)
    if options.o is not None:
        draw_tree(context, options.o, result)
    if options.json:
        print_json(context, "tree", result.to_json())
    elif options.o is None:
        render_tree(context.page, result)
