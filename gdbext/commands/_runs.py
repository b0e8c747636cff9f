# SPDX-License-Identifier: GPL-2.0-or-later
"""Opening several recordings, each with its program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from gdbext.commands.context import open_workspace
from gdbext.commands.registry import Argument
from gdbext.errors import UsageError
from gdbext.render.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdbext.analyses.runs import Run
    from gdbext.commands.context import Context

__all__ = ["ELFS", "open_runs"]

ELFS: Final = Argument(
    "--elf",
    "The program: once for all recordings, or once for each in their order\n"
    "(default: the ones that the recordings name).",
    metavar="ELF",
    parse=Path,
    many=True,
    completes="file",
)


def open_runs(context: Context, recordings: Sequence[Path], elfs: Sequence[Path]) -> list[Run]:
    """What the recordings ran.

    Raises:
        UsageError: programs are neither one nor as many as recordings.
        TraceFormatError: a recording cannot be read.
        SymbolError: a program cannot be read, or is not the one that was recorded.
    """
    # Only now: it loads the replay.
    from gdbext.analyses.runs import run_of

    if len(elfs) > 1 and len(elfs) != len(recordings):
        raise UsageError(
            f"{len(recordings)} recordings and {len(elfs)} programs: give --elf once, or once for "
            "each recording"
        )
    programs: list[Path | None] = [None] * len(recordings)
    if elfs:
        programs = [*elfs] if len(elfs) > 1 else [elfs[0]] * len(recordings)
    runs: list[Run] = []
    for path, elf in zip(recordings, programs, strict=True):
        recording = path.expanduser()
        with progress_bar(str(path)) as progress:
            program = None if elf is None else elf.expanduser()
            workspace = open_workspace(
                recording, program, progress if context.door == "cli" else None
            )
            workspace.refresh()
        runs.append(run_of(workspace, str(path), runs))
    return runs
