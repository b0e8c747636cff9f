# SPDX-License-Identifier: GPL-2.0-or-later
"""qemu-args: what to add to QEMU's command line so that it can record."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import gdbext
from gdbext.commands.registry import Argument, command
from gdbext.target import qemu_binary
from gdbext.target.launch import RecorderOptions
from gdbext.target.runtime import make_session_directory

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "qemu-args",
    "Print the arguments that make a QEMU you start yourself able to record.",
    description=(
        "Use it as  qemu-system-arm ... -s -S $(gdbext qemu-args)  and load the commands in GDB\n"
        "with the `source` line that it prints on standard error."
    ),
    arguments=[
        Argument(
            "--qemu",
            "The QEMU they are for (default qemu-system-arm); its version selects the plugin.",
            metavar="PROGRAM",
            default="qemu-system-arm",
        ),
        Argument(
            "--dir",
            "Live directory; must not hold a recording (default: a new one).",
            metavar="DIR",
            parse=Path,
            completes="file",
        ),
        Argument("--record", "Record from the first block."),
    ],
    doors=["cli"],
)
def qemu_args(context: Context, options: argparse.Namespace) -> None:
    """Print the arguments on stdout, the line for GDB on stderr."""
    qemu = qemu_binary.find(options.qemu)
    plugin = qemu.plugin
    directory = options.dir.absolute() if options.dir else make_session_directory("qemu")
    argument = RecorderOptions(record=options.record).argument(plugin, directory)
    context.page.line(shlex.join(["-plugin", argument]))
    loader = Path(gdbext.__file__).resolve().parent / "gdb" / "load.py"
    print(f"in GDB: source {loader}", file=sys.stderr)
    if options.dir:
        print(f"        set gdbext control {directory / 'control'}", file=sys.stderr)
