# SPDX-License-Identifier: GPL-2.0-or-later
"""callees: what a function called, from where, how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands._options import CALL_SITES_OF
from gdbext.commands.context import print_json, tell_entry
from gdbext.commands.registry import command
from gdbext.render.functions import render_callees

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "callees",
    "List what a function called, with its call sites, counts and inclusive instructions.",
    description=(
        "Calls by call instruction, tail jump, veneer and through pointers are all there.\n"
        "Inclusive instructions are the callee's, with what it called, when called from here."
    ),
    arguments=CALL_SITES_OF,
    needs=["recording"],
)
def callees(context: Context, options: argparse.Namespace) -> None:
    """Print the callees of one function."""
    report = context.asked(options).callees(options.function)
    if options.json:
        print_json(context, "callees", report.to_json())
    else:
        render_callees(context.page, report, options.top)
        tell_entry(context, report.function.address)
