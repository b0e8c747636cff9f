# SPDX-License-Identifier: GPL-2.0-or-later
"""repl: an interactive session with a prompt of our own over GDB."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from gdbext.commands._launching import GDB_ARGUMENTS, TARGET_ARGUMENTS, target_of
from gdbext.commands._leftovers import tell_leftovers
from gdbext.commands._signals import orderly_end
from gdbext.commands.registry import Argument, command
from gdbext.errors import GdbextError, TargetError

if TYPE_CHECKING:
    import argparse
    from typing import TextIO

    from gdbext.commands.context import Context
    from gdbext.repl.shell import Shell


@command(
    "repl",
    "Debug a program at a prompt with completion, history and a status line.",
    description=(
        "GDB's commands and those below `trace` work as in GDB; `!COMMAND` is for the shell,\n"
        "`send TEXT` for the guest's console, `restart` starts what has ended. Ctrl-C stops the\n"
        "program; twice, it gives up waiting. What the guest writes begins with `target| `.\n"
        "Without a terminal, lines are read from standard input until one fails (exit status 1)\n"
        "or quits."
    ),
    arguments=[
        *TARGET_ARGUMENTS,
        Argument(
            "-x",
            "Do what a file says first.",
            metavar="FILE",
            parse=Path,
            many=True,
            completes="file",
        ),
        Argument(
            "--console",
            "Write the guest's output to this file or terminal instead.",
            metavar="FILE",
            parse=Path,
            completes="file",
        ),
        *GDB_ARGUMENTS,
    ],
    doors=["cli"],
)
def repl(context: Context, options: argparse.Namespace) -> int:
    """Run the session until its end; the exit status."""
    # Only now: other commands do without a terminal and GDB.
    from gdbext.mi.session import Setup
    from gdbext.repl.screen import Screen
    from gdbext.repl.shell import Shell

    target = target_of(options)
    tell_leftovers()
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    with ExitStack() as stack:
        stack.enter_context(orderly_end())
        console: TextIO | None = None
        if options.console is not None:
            console = stack.enter_context(_opened(options.console))
        colour = interactive and "NO_COLOR" not in os.environ
        screen = Screen(console=console, colour=colour)
        setup = Setup(
            target.board,
            target.elf,
            qemu_args=target.qemu_args,
            gdb_args=target.gdb_args,
            others=target.others,
            attachment=target.attachment,
        )
        shell = Shell(setup, screen)
        stack.callback(shell.close)
        shell.start()
        for path in options.x:
            shell.run_file(path)
            if shell.exit_status is not None:
                return shell.exit_status
        if interactive:
            from gdbext.repl.prompt import converse

            return converse(shell)
        return _batch(shell)


def _batch(shell: Shell) -> int:
    """Do the lines of standard input; the exit status."""
    try:
        shell.run_lines(sys.stdin, "standard input")
    except GdbextError as error:
        shell.screen.error(f"gdbext: {error}")
        return 1
    return shell.exit_status or 0


def _opened(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8", errors="replace")
    except OSError as error:
        raise TargetError(f"{path}: cannot be written: {error.strerror}") from error
