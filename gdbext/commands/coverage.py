# SPDX-License-Identifier: GPL-2.0-or-later
"""coverage: which lines, branches, functions and instructions ran."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gdbext.commands._coverage import FILTERS, coverage_settings
from gdbext.commands._options import ELF_OPTION, JSON, RECORDING, percentage
from gdbext.commands.context import print_json, tell
from gdbext.commands.registry import Argument, command
from gdbext.errors import SymbolError
from gdbext.render.coverage import render_coverage, render_uncovered

if TYPE_CHECKING:
    import argparse

    from gdbext.analyses.workspace import Workspace
    from gdbext.commands.context import Context
    from gdbext.coverage.model import Coverage

EXIT_BELOW: Final = 3
"""Exit status when coverage is under a limit."""


def _limit(what: str) -> Argument:
    return Argument(
        f"--fail-under-{what}",
        f"Exit with status {EXIT_BELOW} if less than N percent of {what} ran.",
        metavar="N",
        parse=percentage,
        doors=("cli",),
    )


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
        Argument(
            "--html",
            "Also write an HTML report to this folder, with gcovr or genhtml.",
            metavar="DIR",
            parse=Path,
            completes="file",
        ),
        _limit("lines"),
        _limit("branches"),
        _limit("functions"),
        JSON,
        ELF_OPTION,
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
        _write_html(context, workspace, options.html.expanduser(), result)
    return EXIT_BELOW if _is_below(options, result) else 0


def _write_html(context: Context, workspace: Workspace, folder: Path, result: Coverage) -> None:
    """Write the pages and say where."""
    # Only now: most calls write none.
    from gdbext.exporters.functions import known_functions
    from gdbext.exporters.report import write_report

    if not result.files:
        raise SymbolError(f"{workspace.symbols.path}: no source lines for an HTML report")
    title = f"{workspace.symbols.path.name}: coverage of the binary"
    tool = write_report(result, known_functions(workspace.symbols), folder, title)
    tell(context, f"{folder / 'index.html'}: written by {tool}")


def _is_below(options: argparse.Namespace, result: Coverage) -> bool:
    """Say on standard error what is under its limit. Nothing to cover is not under any."""
    below = False
    for what in ("lines", "branches", "functions"):
        limit = getattr(options, f"fail_under_{what}")
        reached = getattr(result.totals, what).percent
        if limit is not None and reached is not None and reached < limit:
            # Rounded down: 79.97 is not 80.
            shown = int(reached * 10) / 10
            print(f"gdbext: {what}: {shown:.1f}% covered, under {limit:g}%", file=sys.stderr)
            below = True
    return below
