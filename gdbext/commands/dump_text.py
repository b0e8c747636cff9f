# SPDX-License-Identifier: GPL-2.0-or-later
"""dump, on the command line: a recording as text, one record a line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gdbext.commands.registry import Argument, command
from gdbext.recording.reader import Recording
from gdbext.recording.textdump import dump_lines

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "dump",
    "Print a recording as text, one record a line.",
    arguments=[
        Argument("FILE", "The recording: a file, or a live directory.", parse=Path),
        Argument("--blocks", "Print the block table and each executed block too."),
        Argument("--events", "Print the events too."),
        Argument("--insns", "Print each executed instruction too."),
    ],
    doors=["cli"],
)
def dump(context: Context, options: argparse.Namespace) -> None:
    """Print KIND key=value lines."""
    with Recording.open(options.file) as recording:
        lines = dump_lines(
            recording, blocks=options.blocks, events=options.events, insns=options.insns
        )
        for line in lines:
            context.page.line(line)
