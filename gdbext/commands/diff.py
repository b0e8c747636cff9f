# SPDX-License-Identifier: GPL-2.0-or-later
"""diff: what one recording ran that another did not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gdbext.commands._coverage import FILTERS, coverage_settings
from gdbext.commands._options import JSON, count
from gdbext.commands._runs import ELFS, open_runs
from gdbext.commands.context import print_json
from gdbext.commands.registry import Argument, command
from gdbext.errors import UsageError
from gdbext.render.runs import render_difference

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "diff",
    "Tell what one recording ran that another did not, and the other way round.",
    description=(
        "Two recordings A and B; in GDB, B alone is compared with the recording in work. By\n"
        "function and line, and, of the same code, by outcome of branches. Different builds are\n"
        "compared by file, line and name of functions."
    ),
    arguments=[
        Argument("RECORDING", "A, and B.", parse=Path, many=True, completes="file"),
        *FILTERS,
        Argument("--top", "Rows shown of each (default: all).", metavar="N", parse=count),
        JSON,
        ELFS,
    ],
)
def diff(context: Context, options: argparse.Namespace) -> None:
    """Print both directions."""
    # Only now: it loads the replay.
    from gdbext.analyses.difference import compare
    from gdbext.analyses.runs import run_of

    paths = options.recording
    fewest = 1 if context.door == "gdb" else 2
    if not fewest <= len(paths) <= 2:
        raise UsageError(f"diff: {len(paths)} recordings; give two, A and B")
    settings = coverage_settings(options)
    if len(paths) == 1:
        context.check("recording")
        work = run_of(context.workspace(options), context.recording_path().name)
        own = [options.elf[0] if options.elf else context.elf()]
        runs = [work, *open_runs(context, paths, [elf for elf in own if elf is not None])]
    else:
        runs = open_runs(context, paths, options.elf)
    first, second = runs
    difference = compare(first, second, settings)
    if options.json:
        print_json(context, "diff", difference.to_json())
    else:
        render_difference(context.page, difference, options.top)
