# SPDX-License-Identifier: GPL-2.0-or-later
"""profile: where instructions were spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands._options import JSON, NO_INLINED, PROGRAM, RECORDING, count
from gdbext.commands.context import print_json
from gdbext.commands.registry import Argument, command
from gdbext.render.profile import render_profile

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "profile",
    "Tell where instructions were spent: self, inclusive, calls; by task and handler too.",
    description=(
        "Inclusive is with what a function called; recursion counts once. Handlers of interrupts\n"
        "and exceptions are never part of what they interrupted. Inlined functions (debug\n"
        "information tells them) have rows of their own; they are not called."
    ),
    arguments=[
        RECORDING,
        Argument("--top", "Functions shown (default 20).", metavar="N", parse=count),
        NO_INLINED,
        JSON,
        *PROGRAM,
    ],
    needs=["recording"],
)
def profile(context: Context, options: argparse.Namespace) -> None:
    """Print the profile."""
    result = context.asked(options).profile(inlined=not options.no_inlined)
    if options.json:
        print_json(context, "profile", result.to_json())
    else:
        render_profile(context.page, result, options.top or 20)
