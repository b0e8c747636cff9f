# SPDX-License-Identifier: GPL-2.0-or-later
"""callers: who called a function, from where, how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands._options import ELF_OPTION, JSON, RECORDING, count
from gdbext.commands.context import print_json, tell_entry
from gdbext.commands.registry import Argument, command
from gdbext.render.functions import render_callers

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "callers",
    "List the callers of a function with their call sites and counts.",
    description=(
        "A call is an entry into the function from outside by a call, a tail jump or a veneer.\n"
        "Entries by interrupt or exception are told apart. Callers and `unattributed` (the caller\n"
        "was not recorded) always add up to the calls."
    ),
    arguments=[
        RECORDING,
        Argument("FUNCTION", "The function: NAME, FILE:NAME or 0xADDRESS.", completes="function"),
        Argument("--top", "Call sites shown (default: all).", metavar="N", parse=count),
        JSON,
        ELF_OPTION,
    ],
    needs=["recording"],
)
def callers(context: Context, options: argparse.Namespace) -> None:
    """Print the callers of one function."""
    report = context.workspace(options).callers(options.function)
    if options.json:
        print_json(context, "callers", report.to_json())
    else:
        render_callers(context.page, report, options.top)
        tell_entry(context, report.function.address)
