# SPDX-License-Identifier: GPL-2.0-or-later
"""coverage: which lines, branches, functions and instructions ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands._coverage import (
    EXIT_BELOW,
    FILTERS,
    HTML,
    LIMITS,
    coverage_settings,
    is_below,
    write_html,
)
from gdbext.commands._options import JSON, PROGRAM, RECORDING
from gdbext.commands.context import print_json
from gdbext.commands.registry import Argument, command
from gdbext.render.coverage import render_coverage, render_uncovered

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "coverage",
    "Tell which lines, branches, functions and instructions ran.",
    description=(
        "Of the whole program, of one function, or of one source file (the end of its path will\n"
        "do). A line ran if one of its instructions certainly took effect: instructions with a\n"
        "condition of their own (IT blocks, A32, csel, cmov) prove nothing, and are counted as\n"
        "decisions without a branch. Each conditional branch counts as two: taken, not taken.\n"
        "Lines marked `gdbext: exclude REASON` in a comment, or between `gdbext: exclude-begin\n"
        "REASON` and `gdbext: exclude-end`, count on their own, as do those of --exclusions."
    ),
    arguments=[
        RECORDING,
        Argument("NAME", "A function or a source file.", optional=True, completes="function"),
        Argument("--uncovered", "List what did not run."),
        *FILTERS,
        HTML,
        *LIMITS,
        JSON,
        *PROGRAM,
    ],
    needs=["recording"],
)
def coverage(context: Context, options: argparse.Namespace) -> int:
    """Print totals and files, or what did not run; compare with the limits."""
    settings = coverage_settings(options)
    workspace = context.workspace(options)
    result = workspace.coverage(settings, options.name)
    if options.json:
        elf = {"elf": str(workspace.symbols.path), "name": options.name}
        print_json(context, "coverage", {**elf, **result.to_json()})
    elif options.uncovered:
        render_uncovered(context.page, result)
    else:
        render_coverage(context.page, result, options.name)
    if options.html is not None:
        write_html(context, result, [workspace.symbols], options.html)
    return EXIT_BELOW if is_below(options, result) else 0
