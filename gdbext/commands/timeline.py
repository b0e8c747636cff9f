# SPDX-License-Identifier: GPL-2.0-or-later
"""timeline: calls, handlers and tasks one by one, as they ran."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import TYPE_CHECKING, Final

from gdbext.commands._options import PROGRAM, RECORDING, count, instruction
from gdbext.commands.registry import Argument, command
from gdbext.errors import UsageError
from gdbext.render.timeline import left_out_text, render_timeline

if TYPE_CHECKING:
    import argparse

    from gdbext.analyses.timeline import Timeline
    from gdbext.commands.context import Context

TOP: Final = 40
_COLUMNS: Final = (
    *("kind", "name", "address", "file", "vcpu", "task", "level", "depth", "start", "end"),
    *("self_insns", "inclusive_insns", "open_start", "open_end"),
)


@command(
    "timeline",
    "Show calls, interrupts, exceptions and tasks one by one, with their start and end.",
    description=(
        "Start and end are numbers of instructions of the vCPU, from 0. A slice of a task that is\n"
        "interrupted or preempted stays open; inclusive is what ran in it and in what it called,\n"
        "without handlers and other tasks. Tables show the longest slices, --json (one object a\n"
        "line) and --csv all of them, in the order of their ends."
    ),
    arguments=[
        RECORDING,
        Argument(
            "--from", "Begin at this instruction of each vCPU.", metavar="I", parse=instruction
        ),
        Argument("--to", "End before this instruction.", metavar="I", parse=instruction),
        Argument("--depth", "Levels of calls kept; the outermost has 1.", metavar="N", parse=count),
        Argument(
            "--min",
            "Leave out slices of fewer instructions, from start to end.",
            metavar="N",
            parse=count,
        ),
        Argument(
            "--top",
            f"Keep the N longest slices (default {TOP}; all with --json and --csv).",
            metavar="N",
            parse=count,
        ),
        Argument("--json", "Print JSON lines with stable keys instead of a table."),
        Argument("--csv", "Print comma-separated values instead of a table."),
        *PROGRAM,
    ],
    needs=["recording"],
)
def timeline(context: Context, options: argparse.Namespace) -> None:
    """Print the slices of the window."""
    # Only now: it loads the replay.
    from gdbext.replay.slices import SliceWindow

    start, end = getattr(options, "from") or 0, options.to
    if options.json and options.csv:
        raise UsageError("timeline: give one of --json and --csv")
    if end is not None and end <= start:
        raise UsageError(f"timeline: --to {end} is not after --from {start}")
    machine = options.json or options.csv
    window = SliceWindow(
        start=start,
        end=end,
        min_insns=options.min or 0,
        max_depth=options.depth,
        longest=options.top or (None if machine else TOP),
        runs=machine,
    )
    result = context.asked(options).timeline(window)
    if start and start >= max(result.instructions.values(), default=0):
        most = max(result.instructions.values(), default=0)
        raise UsageError(f"timeline: --from {start}: the recording has {most} instructions")
    if options.json:
        _print_json(context, result)
    elif options.csv:
        _print_csv(context, result)
    else:
        render_timeline(context.page, result)


def _print_json(context: Context, result: Timeline) -> None:
    """A header, a line for each slice, a line with what was left out."""
    window = result.window
    head = {
        "schema": "gdbext/timeline/1",
        "vcpus": [{"vcpu": v, "instructions": n} for v, n in result.instructions.items()],
        "from": window.start,
        "to": window.end,
        "depth": window.max_depth,
        "min": window.min_insns,
        "top": window.longest,
        "repairs": result.repairs,
    }
    context.page.line(json.dumps(head))
    for each in result.slices():
        context.page.line(json.dumps(each.to_json()))
    context.page.line(json.dumps({"slices": result.left_out()._asdict()}))


def _print_csv(context: Context, result: Timeline) -> None:
    """A row of titles, a row for each slice; what was left out goes to standard error."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for each in result.slices():
        function = each.function
        rows.writerow(
            (
                *(each.kind, function.name, function.address, function.file or "", each.vcpu),
                *(each.task or "", each.level, each.depth, each.start, each.end),
                *(each.self_insns, each.inclusive_insns),
                *(int(each.open_start), int(each.open_end)),
            )
        )
        context.page.text(text.getvalue())
        text.seek(0)
        text.truncate()
    left_out = left_out_text(result.left_out())
    if context.door == "gdb":
        context.page.line(left_out)
    else:
        print(f"gdbext: {left_out}", file=sys.stderr)
