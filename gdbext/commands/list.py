# SPDX-License-Identifier: GPL-2.0-or-later
"""list: source with counts and outcomes of branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands._coverage import FILTERS, coverage_settings
from gdbext.commands._options import JSON, PROGRAM, RECORDING
from gdbext.commands.context import print_json
from gdbext.commands.registry import Argument, command
from gdbext.render.listing import render_listing

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context

_PLACES = tuple(a for a in FILTERS if a.name in ("--source-map", "--exclusions"))


@command(
    "list",
    "Show the source of a function or file, with what ran of it.",
    description=(
        "Each line has its count (that of its most executed instruction, copies added up; empty:\n"
        "no code), and taken/not taken of each conditional branch. `*`: some of the line did not\n"
        "run. `?`: only instructions with a condition of their own were reached. In brackets:\n"
        "excluded. Of a function the counts are those of its own copy, not of where it is inlined."
    ),
    arguments=[
        RECORDING,
        Argument("NAME", "A function or a source file.", completes="function"),
        *_PLACES,
        JSON,
        *PROGRAM,
    ],
    needs=["recording"],
)
def list_(context: Context, options: argparse.Namespace) -> None:
    """Print the annotated source."""
    options.include, options.exclude, options.all = [], [], False
    settings = coverage_settings(options)
    listing = context.asked(options).listing(settings, options.name)
    if options.json:
        print_json(context, "list", listing.to_json())
    else:
        render_listing(context.page, listing)
