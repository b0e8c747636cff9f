# SPDX-License-Identifier: GPL-2.0-or-later
"""debug: QEMU with the recorder, halted, and an interactive GDB with the commands loaded."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sysconfig
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import gdbext
from gdbext.commands._leftovers import tell_leftovers
from gdbext.commands._options import BOARD, ELF_FILE, QEMU_ARGS
from gdbext.commands.registry import Argument, command
from gdbext.errors import TargetError
from gdbext.target.boards import load_board
from gdbext.target.boot import boot_for_gdb
from gdbext.target.gdb_binary import find_gdb

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from gdbext.commands.context import Context
    from gdbext.target.boards import Board
    from gdbext.target.launch import Emulator


@command(
    "debug",
    "Start a program halted in QEMU, and GDB on it with the trace commands.",
    description=(
        "Your .gdbinit is read as usual. The guest's output appears in the terminal. QEMU ends\n"
        "with GDB. The variable GDB names another one than gdb-multiarch."
    ),
    arguments=[
        ELF_FILE,
        BOARD,
        Argument(
            "--gdb-args",
            "Words added to GDB's command line, as --gdb-args='-x FILE -ex \"break main\"'.",
            metavar="ARGS",
            many=True,
            parse=shlex.split,
        ),
        QEMU_ARGS,
    ],
    doors=["cli"],
)
def debug(context: Context, options: argparse.Namespace) -> int:
    """Run GDB in the foreground until it ends; its exit status."""
    board = load_board(options.board)
    gdb = find_gdb()
    tell_leftovers()
    gdb_args = [word for words in options.gdb_args for word in words]
    with (
        _terminal_signals_are_gdbs(),
        boot_for_gdb(board, options.elf, extra_args=options.qemu_args) as emulator,
    ):
        command_line = gdb_command(gdb, board, options.elf, emulator, gdb_args)
        try:
            debugger = subprocess.Popen(command_line, env=_gdb_environment())
        except OSError as error:
            raise TargetError(f"{gdb}: cannot start: {error.strerror}") from error
        try:
            return debugger.wait()
        finally:
            # Left early (SIGTERM, SIGHUP): GDB goes too, before QEMU.
            if debugger.poll() is None:
                debugger.terminate()
                debugger.wait()


def gdb_command(
    gdb: Path, board: Board, elf: Path, emulator: Emulator, gdb_args: Sequence[str]
) -> list[str]:
    """GDB's command line: our commands loaded and the target connected, then the user's words."""
    loader = Path(gdbext.__file__).resolve().parent / "gdb" / "load.py"
    return [
        str(gdb),
        "-q",
        "-iex",
        f"set architecture {board.gdb_architecture}",
        str(elf),
        "-x",
        str(loader),
        "-ex",
        f"set gdbext control {emulator.control_path}",
        "-ex",
        f"target remote 127.0.0.1:{emulator.gdb_port}",
        *gdb_args,
    ]


def _gdb_environment() -> dict[str, str]:
    """Ours, and where the packages are that gdbext/gdb/load.py makes known to GDB's Python."""
    return {**os.environ, "GDBEXT_SITE_PACKAGES": sysconfig.get_path("purelib")}


@contextmanager
def _terminal_signals_are_gdbs() -> Iterator[None]:
    """Leave Ctrl-C and Ctrl-\\ to GDB, and end orderly on SIGTERM and SIGHUP.

    They are handled rather than ignored: an ignored signal would be ignored by GDB as well.
    """

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    handlers = {
        signal.SIGINT: lambda _number, _frame: None,
        signal.SIGQUIT: lambda _number, _frame: None,
        signal.SIGTERM: leave,
        signal.SIGHUP: leave,
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
