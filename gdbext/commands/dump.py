# SPDX-License-Identifier: GPL-2.0-or-later
"""dump, in a session: save the recording as one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gdbext.commands._saving import save
from gdbext.commands.registry import Argument, command
from gdbext.render.numbers import amount, bytes_amount

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "dump",
    "Save the recording in one file.",
    description=(
        "`trace load FILE` and `gdbext analyze FILE` work on it later, without the target.\n"
        "An existing file is replaced. Recording goes on if it is on."
    ),
    arguments=[Argument("FILE", "The file to write.", parse=Path, completes="file")],
    doors=["gdb"],
    needs=["recording"],
)
def dump(context: Context, options: argparse.Namespace) -> None:
    """Write the file and say what is in it."""
    saved = save(context.recording_path(), options.file.expanduser(), context.elf())
    context.page.line(
        f"{saved.path}: {amount(saved.n_insns)} instructions, {bytes_amount(saved.size_bytes)}"
    )
