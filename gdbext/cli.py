# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: `gdbext VERB ...`, a door to the registry."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
import traceback
from typing import TYPE_CHECKING, Final, Literal

import gdbext
from gdbext.commands.context import Context, open_workspace
from gdbext.commands.registry import commands, dispatch, find_command
from gdbext.errors import ControlError, GdbextError, UsageError
from gdbext.render.page import Page
from gdbext.render.progress import progress_bar
from gdbext.target.control import ControlClient, discover

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gdbext.analyses.workspace import Workspace
    from gdbext.commands.context import Need

__all__ = ["CliContext", "main"]

EXIT_ERROR: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130
EXIT_RECORD_FAILURE: Final = 125

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_REPORT: Final = "run again with --traceback and report it"


class CliContext(Context):
    """Files named on the command line; prints to stdout."""

    door: Literal["cli"] = "cli"

    def __init__(self) -> None:
        terminal = sys.stdout.isatty()
        self.page = Page(
            sys.stdout.write,
            width=shutil.get_terminal_size().columns if terminal else None,
            colour=terminal and "NO_COLOR" not in os.environ,
        )

    def workspace(self, options: argparse.Namespace) -> Workspace:
        """The recording that FILE names, with the symbols of --elf."""
        with progress_bar() as progress:
            workspace = open_workspace(options.file, options.elf, progress, options.symbols)
            workspace.refresh()
        return workspace

    def control(self) -> ControlClient:
        """The recorder, if one runs."""
        found = discover()
        if len(found) != 1:
            raise ControlError(f"{len(found)} recorders run; this needs exactly one")
        return ControlClient(found[0].directory)

    def check(self, need: Need) -> None:
        """Nothing: on the command line FILE is an argument, and opening it is the check."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    _open_standard_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    show_traceback = os.environ.get("GDBEXT_TRACEBACK") == "1"
    if words and words[0] == "--traceback":
        show_traceback, words = True, words[1:]
    if not words or words[0] in ("-h", "--help", "help"):
        return _help(words[1:])
    if words[0] == "--version":
        print(f"gdbext {gdbext.__version__}")
        return 0
    made = find_command(words[0], "cli")
    ours = words[1:]
    for border in ("--", "--gdb"):  # what follows is for QEMU, or for GDB
        ours = ours[: ours.index(border)] if border in ours else ours
    if made is not None and ("-h" in ours or "--help" in ours):
        return _help(words[:1])
    if "--traceback" in ours:
        show_traceback = True
        words.remove("--traceback")
    try:
        if made is None:
            raise UsageError(f"unknown command '{words[0]}'; `gdbext help` lists them")
        status = dispatch(made, CliContext(), words[1:])
        sys.stdout.flush()
        return status
    except GdbextError as error:
        if show_traceback:
            traceback.print_exc()
        else:
            print(f"gdbext: {error}", file=sys.stderr)
        if words[0] == "record":
            return EXIT_RECORD_FAILURE
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_ERROR
    except KeyboardInterrupt:
        print("gdbext: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone (`| head`): nothing is wrong. Python would complain
        # once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_ERROR
    except Exception as error:  # the last line of defence: a bug of ours, told as one
        if show_traceback:
            raise
        if isinstance(error, OSError) and error.filename is None and error.errno in _FULL:
            # Those of named files have been told: this one is of our output.
            told = f"standard output: cannot be written: {error.strerror}"
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        else:
            text = " ".join(str(error).split())
            told = f"internal error: {type(error).__name__}: {text}; " + _REPORT
        print(f"gdbext: {told}", file=sys.stderr)
        return EXIT_RECORD_FAILURE if words[0] == "record" else EXIT_ERROR


def _open_standard_streams() -> None:
    """Open what the caller closed (`<&-`): pipes would get those numbers, and QEMU inherit them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False))
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False))
    # Names may hold what the locale's encoding has not.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _help(words: Sequence[str]) -> int:
    if words:
        made = find_command(words[0], "cli")
        if made is None:
            print(
                f"gdbext: unknown command '{words[0]}'; `gdbext help` lists them", file=sys.stderr
            )
            return EXIT_USAGE
        print(made.help_text("cli"))
        return 0
    print("Record what firmware executes in QEMU, and ask about it.")
    print("Usage: gdbext COMMAND ...")
    print()
    for made in commands("cli"):
        print(f"  {made.name:10} {made.summary}")
    print()
    print("`gdbext help COMMAND` tells more. In GDB the commands are below `trace`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
