# SPDX-License-Identifier: GPL-2.0-or-later
"""analyze: what was executed, in total or by one function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands._options import JSON, PROGRAM, RECORDING, count
from gdbext.commands.context import print_json, tell_entry
from gdbext.commands.registry import Argument, command
from gdbext.render.functions import render_function
from gdbext.render.summary import render_summary

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "analyze",
    "Tell what was executed: totals, or all about one function.",
    description=(
        "Without --function: instructions, the hottest functions, functions that never ran, code\n"
        "outside the ELF file, and gaps. With it: how often the function was called, from where,\n"
        "what it called, the instructions spent in it, and what of its code and lines did not run."
    ),
    arguments=[
        RECORDING,
        Argument(
            "--function",
            "The function: NAME, FILE:NAME or 0xADDRESS.",
            metavar="F",
            completes="function",
        ),
        Argument("--top", "Rows in each table (default 10).", metavar="N", parse=count),
        JSON,
        *PROGRAM,
    ],
    needs=["recording"],
)
def analyze(context: Context, options: argparse.Namespace) -> None:
    """Print the summary, or the report about one function."""
    top = options.top or 10
    if options.function is None:
        summary = context.workspace(options).summary(top=top)
        if options.json:
            print_json(context, "analyze", summary.to_json())
        else:
            render_summary(context.page, summary, top)
        return
    report = context.asked(options).function(options.function)
    if options.json:
        print_json(context, "analyze", report.to_json())
    else:
        render_function(context.page, report, top)
        tell_entry(context, report.address)
