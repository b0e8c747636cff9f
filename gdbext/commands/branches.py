# SPDX-License-Identifier: GPL-2.0-or-later
"""branches: every conditional branch with its outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from gdbext.commands._coverage import FILTERS, coverage_settings
from gdbext.commands._options import JSON, PROGRAM, RECORDING, count
from gdbext.commands.context import print_json
from gdbext.commands.registry import Argument, command
from gdbext.errors import UsageError
from gdbext.render.branches import render_branches

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context
    from gdbext.replay.branchlog import LogTotals

DEFAULT_ROWS: Final = 1_000_000
GDB_ROWS: Final = 100


@command(
    "branches",
    "List conditional branches: opcode, target, times taken and not taken.",
    description=(
        "Of the whole program, of one function, or of one source file. Calls and returns with a\n"
        "condition are among them. Bytes of the opcode are in memory order.\n"
        "With --log, instead, every branch, call and return that was executed, in order, as CSV:\n"
        "opcode, address, and where control went (empty if an interrupt hides it)."
    ),
    arguments=[
        RECORDING,
        Argument("NAME", "A function or a source file.", optional=True, completes="function"),
        Argument("--top", "Branches shown (default: all; 100 in GDB).", metavar="N", parse=count),
        Argument(
            "--log", "Write each executed branch.", metavar="CSV", parse=Path, completes="file"
        ),
        Argument(
            "--from",
            "Begin the log when this function or 0xADDRESS first runs.",
            metavar="LOC",
            completes="function",
        ),
        Argument(
            "--to",
            "End it before this function or 0xADDRESS runs.",
            metavar="LOC",
            completes="function",
        ),
        Argument(
            "--max",
            "Rows of the log (default 1M); what is left out is said.",
            metavar="N",
            parse=count,
        ),
        *FILTERS,
        JSON,
        *PROGRAM,
    ],
    needs=["recording"],
)
def branches(context: Context, options: argparse.Namespace) -> None:
    """Print the table, or write the log."""
    start, stop = getattr(options, "from"), options.to
    if options.log is not None:
        if options.name is not None or options.json or options.top:
            raise UsageError("branches: --log goes with --from, --to and --max only")
        rows = options.max or DEFAULT_ROWS
        totals = context.asked(options).branch_log(options.log.expanduser(), start, stop, rows)
        _tell(context, options.log, totals, start)
        return
    if start is not None or stop is not None or options.max is not None:
        raise UsageError("branches: --from, --to and --max go with --log CSV")
    report = context.asked(options).branches(coverage_settings(options), options.name)
    if options.json:
        print_json(context, "branches", report.to_json())
    else:
        # In GDB a page is bounded: a front end's console has no pager that could be left.
        bound = GDB_ROWS if context.door == "gdb" else None
        render_branches(context.page, report, options.top or bound)


def _tell(context: Context, path: Path, totals: LogTotals, start: str | None) -> None:
    """What is in the log, and what is not."""
    page = context.page
    page.line(f"{path}: {totals.rows:,} executed branches")
    if totals.unknown:
        page.line(f"{totals.unknown:,} of them without target: an interrupt or the end came first")
    if totals.more:
        page.line("there are more: --max N writes more")
    if start is not None and not totals.begun:
        page.line(f"{start} never ran: nothing is in the log")
