# SPDX-License-Identifier: GPL-2.0-or-later
"""last: what ran just before this stop, or before the recording's end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gdbext.commands._options import JSON, PROGRAM, RECORDING, count
from gdbext.commands.context import print_json
from gdbext.commands.registry import Argument, command
from gdbext.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gdbext.analyses.workspace import Workspace
    from gdbext.commands.context import Context

MAX_INSNS: Final = 1_000_000


@command(
    "last",
    "Show what was executed last, newest first.",
    description=(
        "One row for each executed instruction (--insn, the default), for each run of\n"
        "instructions of one source line (--line), or for each stay in a function from one call,\n"
        "return, interrupt or task switch to the next (--call). Depth is that of open calls, in a\n"
        "task or in a handler of interrupts and exceptions; an arrow marks where a handler began.\n"
        "Rounds of a long loop, such as the one that a fault handler ends in, are shown once."
    ),
    arguments=[
        RECORDING,
        Argument("N", "Rows (default 20).", optional=True, parse=count),
        Argument("--insn", "Show instructions."),
        Argument("--line", "Show source lines."),
        Argument("--call", "Show functions."),
        JSON,
        *PROGRAM,
    ],
    needs=["recording"],
)
def last(context: Context, options: argparse.Namespace) -> None:
    """Print the tail of the recording."""
    from gdbext.render.tail import render_tail

    if options.insn + options.line + options.call > 1:
        raise UsageError("last: give one of --insn, --line and --call")
    rows = options.n or 20
    if rows > MAX_INSNS:
        raise UsageError(f"last: at most {MAX_INSNS:,} rows; `gdbext dump FILE --insns` prints all")
    workspace = context.asked(options)
    kind = "line" if options.line else "call" if options.call else "insn"
    steps: Sequence[Any]
    if kind == "insn":
        steps = workspace.last_insns(rows)
    elif kind == "call":
        steps = workspace.last_calls(rows)
    else:
        steps = _lines(workspace, rows)
    if options.json:
        print_json(context, "last", {"kind": kind, "steps": [step.to_json() for step in steps]})
    else:
        render_tail(context.page, steps, kind)


def _lines(workspace: Workspace, rows: int) -> list[Any]:
    """The last `rows` lines of each vCPU; they take many instructions each: look further back
    until there are enough."""
    from gdbext.render.tail import lines_of

    n_insns = 8 * rows
    while True:
        tail = workspace.last_insns(n_insns)
        by_vcpu = [
            lines_of([insn for insn in tail if insn.vcpu == vcpu])
            for vcpu in sorted({insn.vcpu for insn in tail})
        ]
        # The oldest run may begin before the instructions looked at.
        enough = all(len(runs) > rows for runs in by_vcpu)
        if enough or n_insns >= MAX_INSNS or len(tail) < n_insns:
            return [run for runs in by_vcpu for run in runs[:rows]]
        n_insns *= 8
