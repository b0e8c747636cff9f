# SPDX-License-Identifier: GPL-2.0-or-later
"""last: what ran just before this stop, or before the recording's end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gdbext.commands._options import ELF_OPTION, JSON, RECORDING, count
from gdbext.commands.context import print_json
from gdbext.commands.registry import Argument, command
from gdbext.errors import UsageError
from gdbext.render.tail import calls_of, lines_of, render_tail

if TYPE_CHECKING:
    import argparse

    from gdbext.analyses.tail import TailInsn
    from gdbext.commands.context import Context
    from gdbext.render.tail import TailRun

MAX_INSNS: Final = 1_000_000


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
    if rows > MAX_INSNS:
        raise UsageError(f"last: at most {MAX_INSNS:,} rows; `gdbext dump FILE --insns` prints all")
    workspace = context.workspace(options)
    kind = "line" if options.line else "call" if options.call else "insn"
    # Lines and functions take many instructions each: look further back until there are enough.
    n_insns = rows
    steps = _steps(workspace.tail(n_insns), kind, rows)
    while kind != "insn" and len(steps) < rows and n_insns < MAX_INSNS:
        n_insns *= 8
        steps = _steps(workspace.tail(n_insns), kind, rows)
    if options.json:
        print_json(context, "last", {"kind": kind, "steps": [step.to_json() for step in steps]})
    else:
        render_tail(context.page, steps, kind)


def _steps(tail: list[TailInsn], kind: str, rows: int) -> list[TailInsn | TailRun]:
    """The last `rows` rows of each vCPU."""
    steps: list[TailInsn | TailRun] = []
    for vcpu in sorted({insn.vcpu for insn in tail}):
        own = [insn for insn in tail if insn.vcpu == vcpu]
        runs = own if kind == "insn" else lines_of(own) if kind == "line" else calls_of(own)
        # The oldest run may begin before the instructions looked at.
        steps += runs[:rows]
    return steps
