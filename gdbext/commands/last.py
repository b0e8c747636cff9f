# SPDX-License-Identifier: GPL-2.0-or-later
"""last: what ran just before this stop, or before the recording's end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands._options import ELF_OPTION, JSON, RECORDING, count
from gdbext.commands.context import print_json
from gdbext.commands.registry import Argument, command
from gdbext.errors import UsageError
from gdbext.render.tail import calls_of, lines_of, render_tail

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "last",
    "Show what was executed last, newest first.",
    description=(
        "One row for each executed instruction (--insn, the default), for each run of\n"
        "instructions of one source line (--line), or for each change of function (--call)."
    ),
    arguments=[
        RECORDING,
        Argument("N", "Rows (default 20).", optional=True, parse=count),
        Argument("--insn", "Show instructions."),
        Argument("--line", "Show source lines."),
        Argument("--call", "Show functions."),
        JSON,
        ELF_OPTION,
    ],
    needs=["recording"],
)
def last(context: Context, options: argparse.Namespace) -> None:
    """Print the tail of the recording."""
    if options.insn + options.line + options.call > 1:
        raise UsageError("last: give one of --insn, --line and --call")
    rows = options.n or 20
    workspace = context.workspace(options)
    kind = "line" if options.line else "call" if options.call else "insn"
    # Lines and functions take many instructions each: look further back until there are enough.
    n_insns = rows
    while True:
        tail = workspace.tail(n_insns)
        steps = tail if kind == "insn" else lines_of(tail) if kind == "line" else calls_of(tail)
        if len(steps) > rows or len(tail) < n_insns or n_insns > 1_000_000:
            break
        if kind == "insn":
            break
        n_insns *= 8
    steps = steps[:rows]
    if options.json:
        print_json(context, "last", {"kind": kind, "steps": [step.to_json() for step in steps]})
    else:
        render_tail(context.page, steps, kind)
