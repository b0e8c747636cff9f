# SPDX-License-Identifier: GPL-2.0-or-later
"""What `debug` and `repl` take: the program, its board or a QEMU that runs, and words for GDB."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gdbext.commands._options import BOARD_OR_ATTACH, ELF_FILE, QEMU_ARGS, SYMBOLS
from gdbext.commands.registry import Argument
from gdbext.errors import UsageError
from gdbext.target.attach import parse_attachment
from gdbext.target.boards import load_board, unnamed_board

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gdbext.placed import PlacedElf
    from gdbext.target.attach import Attachment
    from gdbext.target.boards import Board

__all__ = ["GDB_ARGUMENTS", "TARGET_ARGUMENTS", "Target", "target_of"]

TARGET_ARGUMENTS: Final = (
    ELF_FILE,
    BOARD_OR_ATTACH,
    SYMBOLS,
    Argument(
        "--attach",
        "Work with a QEMU that runs: where it serves GDB. It runs on afterwards.",
        metavar="HOST:PORT",
    ),
    Argument(
        "--control",
        "With --attach: the recorder's socket (default: that of the QEMU there).",
        metavar="SOCKET",
        parse=Path,
        completes="file",
    ),
)
GDB_ARGUMENTS: Final = (
    Argument(
        "--gdb-args",
        "Words added to GDB's command line, as --gdb-args='-x FILE'.",
        metavar="ARGS",
        many=True,
        parse=shlex.split,
    ),
    Argument(
        "--gdb",
        "All words that follow, up to `--`, are added to GDB's command line.",
        metavar="ARG",
        tail=True,
    ),
    QEMU_ARGS,
)


@dataclass(frozen=True)
class Target:
    """What is to be debugged."""

    board: Board
    elf: Path
    others: Sequence[PlacedElf]
    attachment: Attachment | None
    """None: QEMU is to be started."""
    qemu_args: Sequence[str]
    gdb_args: Sequence[str]


def target_of(options: argparse.Namespace) -> Target:
    """What the arguments say.

    Raises:
        UsageError: they do not go together.
        ConfigError: there is no such board.
    """
    attachment = None
    if options.attach is not None:
        attachment = parse_attachment(options.attach, options.control)
        if options.qemu_args:
            raise UsageError("--attach: QEMU runs already; words after `--` cannot reach it")
    elif options.control is not None:
        raise UsageError("--control goes with --attach HOST:PORT")
    elif options.board is None:
        raise UsageError("give --board B, or --attach HOST:PORT for a QEMU that runs")
    return Target(
        board=load_board(options.board) if options.board is not None else unnamed_board(),
        elf=options.elf,
        others=options.symbols,
        attachment=attachment,
        qemu_args=options.qemu_args,
        gdb_args=[*(word for words in options.gdb_args for word in words), *options.gdb],
    )
