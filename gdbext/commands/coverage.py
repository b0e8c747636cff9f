# SPDX-License-Identifier: GPL-2.0-or-later
"""coverage: which lines, branches, functions and instructions ran."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gdbext.commands._coverage import (
    CONDITION_LIMITS,
    EXIT_BELOW,
    FILTERS,
    HTML,
    LIMITS,
    coverage_settings,
    is_below,
    is_below_conditions,
    is_conditions_limited,
    write_html,
)
from gdbext.commands._options import JSON, PROGRAM, RECORDING
from gdbext.commands.context import print_json
from gdbext.commands.registry import Argument, command
from gdbext.render.conditions import render_conditions
from gdbext.render.coverage import render_coverage, render_uncovered

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context

GDB_DECISIONS: Final = 50


@command(
    "coverage",
    "Tell which lines, branches, functions and instructions ran.",
    description=(
        "Of the whole program, of one function, or of one source file (the end of its path will\n"
        "do). A line ran if one of its instructions certainly took effect: instructions with a\n"
        "condition of their own (IT blocks, A32, csel, cmov) prove nothing, and are counted as\n"
        "decisions without a branch. Each conditional branch counts as two: taken, not taken.\n"
        "Lines marked `gdbext: exclude REASON` in a comment, or between `gdbext: exclude-begin\n"
        "REASON` and `gdbext: exclude-end`, count on their own, as do those of --exclusions.\n"
        "--conditions needs the sources. Decisions whose branches cannot be proven to be their\n"
        "conditions are listed with the reason, and are in no percentage."
    ),
    arguments=[
        RECORDING,
        Argument("NAME", "A function or a source file.", optional=True, completes="function"),
        Argument("--uncovered", "List what did not run."),
        Argument(
            "--conditions", "Also condition coverage and MC/DC of code built with -O0 or -Og."
        ),
        *FILTERS,
        HTML,
        *LIMITS,
        *CONDITION_LIMITS,
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
    wanted = options.conditions or is_conditions_limited(options)
    conditions = workspace.conditions(settings, result) if wanted else None
    if options.json:
        content = {"elf": str(workspace.symbols.path), "name": options.name, **result.to_json()}
        if conditions is not None:
            content["conditions"] = conditions.to_json()
        print_json(context, "coverage", content)
    elif options.uncovered:
        render_uncovered(context.page, result)
    else:
        render_coverage(context.page, result, options.name)
    if conditions is not None and not options.json:
        # In GDB a page is bounded: a front end's console has no pager that could be left.
        most = GDB_DECISIONS if context.door == "gdb" else None
        render_conditions(context.page, conditions, most, only_missing=options.uncovered)
    if options.html is not None:
        write_html(context, result, [workspace.symbols], options.html)
    below = is_below(options, result)
    if conditions is not None:
        below |= is_below_conditions(options, conditions)
    return EXIT_BELOW if below else 0
