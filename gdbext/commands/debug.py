# SPDX-License-Identifier: GPL-2.0-or-later
"""debug: QEMU with the recorder, halted, and an interactive GDB with the commands loaded."""

from __future__ import annotations

import os
import signal
import subprocess
import sysconfig
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import gdbext
from gdbext.commands._launching import GDB_ARGUMENTS, TARGET_ARGUMENTS, target_of
from gdbext.commands._leftovers import tell_leftovers
from gdbext.commands.registry import command
from gdbext.errors import TargetError
from gdbext.mi.symbol_files import symbol_file_words
from gdbext.target.boot import attach_with_program, boot_for_gdb
from gdbext.target.gdb_binary import find_gdb

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from gdbext.commands._launching import Target
    from gdbext.commands.context import Context
    from gdbext.target.attach import AttachedQemu
    from gdbext.target.launch import Emulator


@command(
    "debug",
    "Start a program halted in QEMU, and GDB on it with the trace commands.",
    description=(
        "Your .gdbinit is read as usual. The guest's output appears in the terminal. QEMU ends\n"
        "with GDB; one that was attached to runs on. The variable GDB names another debugger than\n"
        "gdb-multiarch."
    ),
    arguments=[*TARGET_ARGUMENTS, *GDB_ARGUMENTS],
    doors=["cli"],
)
def debug(context: Context, options: argparse.Namespace) -> int:
    """Run GDB in the foreground until it ends; its exit status."""
    target = target_of(options)
    gdb = find_gdb()
    # Before QEMU starts: a file may be wrong.
    symbol_words = symbol_file_words(target.others)
    tell_leftovers()
    with _terminal_signals_are_gdbs(), _qemu(target) as emulator:
        command_line = gdb_command(gdb, target, emulator, symbol_words)
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


@contextmanager
def _qemu(target: Target) -> Iterator[Emulator | AttachedQemu]:
    if target.attachment is not None:
        with closing(
            attach_with_program(target.attachment, target.board, target.elf, target.others)
        ) as attached:
            yield attached
        return
    with boot_for_gdb(
        target.board, target.elf, extra_args=target.qemu_args, others=target.others
    ) as emulator:
        yield emulator


def gdb_command(
    gdb: Path, target: Target, emulator: Emulator | AttachedQemu, symbol_words: Sequence[str]
) -> list[str]:
    """GDB's command line: our commands loaded and the target connected, then the user's words."""
    loader = Path(gdbext.__file__).resolve().parent / "gdb" / "load.py"
    architecture = target.board.gdb_architecture
    return [
        str(gdb),
        "-q",
        *(["-iex", f"set architecture {architecture}"] if architecture else []),
        str(target.elf),
        *symbol_words,
        "-x",
        str(loader),
        "-ex",
        f"set gdbext control {emulator.control_path}",
        "-ex",
        f"target remote {emulator.gdb_address}",
        *target.gdb_args,
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
