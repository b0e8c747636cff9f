# SPDX-License-Identifier: GPL-2.0-or-later
"""merge: the coverage of several recordings together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gdbext.commands._coverage import (
    EXIT_BELOW,
    FILTERS,
    HTML,
    LIMITS,
    check_lines,
    coverage_settings,
    is_below,
    write_html,
)
from gdbext.commands._exports import LINE_FORMATS, export_lines, export_tests, put
from gdbext.commands._options import JSON
from gdbext.commands._runs import ELFS, open_runs
from gdbext.commands.context import print_json, tell
from gdbext.commands.registry import Argument, command
from gdbext.errors import UsageError
from gdbext.render.coverage import render_uncovered
from gdbext.render.runs import render_merged

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "merge",
    "Put the coverage of several recordings together, and tell what each adds.",
    description=(
        "Recordings of the same code add up exactly. Those of different builds are united by\n"
        "source line and function name. `added` is what no recording before covered, `only here`\n"
        "what no other one covers. With -o the whole is also written for other tools."
    ),
    arguments=[
        Argument("FILE", "A recording.", parse=Path, many=True, completes="file"),
        Argument("--uncovered", "List what none of them ran."),
        *FILTERS,
        HTML,
        Argument(
            "--format",
            f"The format of -o: {', '.join(LINE_FORMATS)}.",
            metavar="F",
            choices=tuple(LINE_FORMATS),
        ),
        Argument("-o", "Also write this file.", metavar="OUT", parse=Path, completes="file"),
        *LIMITS,
        JSON,
        ELFS,
    ],
    doors=["cli"],
)
def merge(context: Context, options: argparse.Namespace) -> int:
    """Print contributions and coverage; write what is asked for; compare with the limits."""
    # Only now: it loads the replay.
    from gdbext.analyses.merged import coverage_alone
    from gdbext.analyses.merged import merge as merge_runs

    if (options.format is None) != (options.o is None):
        raise UsageError("merge: --format and -o go together")
    settings = coverage_settings(options)
    merged = merge_runs(open_runs(context, options.file, options.elf), settings)
    builds = [run.symbols for run in merged.builds]
    if options.json:
        print_json(context, "merge", merged.to_json())
    elif options.uncovered:
        render_uncovered(context.page, merged.coverage)
    else:
        render_merged(context.page, merged)
    if options.o is not None:
        check_lines(merged.coverage, builds[0])
        if options.format == "lcov" and len(builds) == 1:
            tests = (
                (each.run.name, coverage_alone(merged, each, settings))
                for each in merged.recordings
            )
            exported = export_tests(tests, merged.coverage, builds[0])
        else:
            exported = export_lines(options.format, merged.coverage, builds)
        put(options.o, exported, lambda text: tell(context, text))
    if options.html is not None:
        write_html(context, merged.coverage, builds, options.html)
    return EXIT_BELOW if is_below(options, merged.coverage) else 0
