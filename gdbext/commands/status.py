# SPDX-License-Identifier: GPL-2.0-or-later
"""status: what the recorder is doing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gdbext.commands._options import JSON
from gdbext.commands._saving import recorded_totals
from gdbext.commands.context import print_json
from gdbext.commands.registry import command
from gdbext.errors import ControlError
from gdbext.render.status import render_status

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "status",
    "Tell whether it records, how much was recorded, and what is missing.",
    arguments=[JSON],
    doors=["gdb"],
)
def status(context: Context, options: argparse.Namespace) -> None:
    """Print state, instructions, size, gaps and overhead."""
    loaded = context.loaded()
    try:
        with context.control() as client:
            hello = client.hello()
            now = client.status()
    except ControlError as error:
        if loaded is None or options.json:
            raise
        context.page.line(f"questions are answered from {loaded}; nothing runs: {error}")
        return
    # The recorder counts finished chunks only.
    n_insns, n_blocks = recorded_totals(hello.directory)
    now = replace(now, instructions=n_insns, blocks=n_blocks)
    if options.json:
        print_json(context, "status", {"target": hello.target, **now.to_json()})
    else:
        render_status(context.page, hello, now)
    if loaded is not None:
        context.page.line(f"questions are answered from {loaded} (`trace load` alone: live again)")
