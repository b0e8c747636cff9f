# SPDX-License-Identifier: GPL-2.0-or-later
"""callers: who called a function, from where, how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands._options import CALL_SITES_OF
from gdbext.commands.context import print_json, tell_entry
from gdbext.commands.registry import command
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
    arguments=CALL_SITES_OF,
    needs=["recording"],
)
def callers(context: Context, options: argparse.Namespace) -> None:
    """Print the callers of one function."""
    report = context.asked(options).callers(options.function)
    if options.json:
        print_json(context, "callers", report.to_json())
    else:
        render_callers(context.page, report, options.top)
        tell_entry(context, report.function.address)
