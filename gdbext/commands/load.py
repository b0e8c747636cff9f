# SPDX-License-Identifier: GPL-2.0-or-later
"""load: work on a saved recording, without a target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gdbext.commands.registry import Argument, command

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "load",
    "Work on a saved recording; without FILE, on the running target again.",
    description="The symbols are those of GDB's current file, or of the one the recording names.",
    arguments=[
        Argument("FILE", "A recording.", parse=Path, optional=True, completes="file"),
        Argument("--elf", "The program that was recorded.", metavar="ELF", parse=Path),
    ],
    doors=["gdb"],
)
def load(context: Context, options: argparse.Namespace) -> None:
    """Open the recording, or go back to the live one."""
    path = options.file.expanduser() if options.file else None
    context.load(path, options.elf.expanduser() if options.elf else None)
