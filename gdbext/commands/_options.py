# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments that several commands share, and how their values are read."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from gdbext.commands.registry import Argument
from gdbext.errors import UsageError
from gdbext.placed import PlacedElf, parse_placed

__all__ = [
    "BOARD",
    "BOARD_OR_ATTACH",
    "BOARD_OR_USER",
    "CALL_SITES_OF",
    "DEPTH",
    "ELF_FILE",
    "ELF_OPTION",
    "JSON",
    "MIN_PERCENT",
    "NO_INLINED",
    "PROGRAM",
    "QEMU_ARGS",
    "RECORDING",
    "SYMBOLS",
    "USER",
    "count",
    "instruction",
    "percentage",
    "ring_size",
    "seconds",
]


def count(text: str) -> int:
    """A number of things, 1 or more; `10M` and `2.5G` are understood."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kMG]?)", text.replace("_", ""))
    scale = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
    number = round(Fraction(match[1]) * scale[match[2]]) if match else 0
    if number < 1 or (match and "." in match[1] and not match[2]):
        raise argparse.ArgumentTypeError(
            f"'{text}' is no count; write such as 500, 20k, 1.5M or 1G"
        )
    return number


def instruction(text: str) -> int:
    """An instruction's number, from 0 on; suffixes as in `count`."""
    return 0 if text == "0" else count(text)


def ring_size(text: str) -> int:
    """A size in bytes, 64 KiB or more; suffixes K, M, G (of 1024)."""
    match = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", text)
    size = int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]] if match else 0
    if size < 1 << 16:
        raise argparse.ArgumentTypeError(f"'{text}' is no size of 64K or more; write such as 64M")
    return size


def percentage(text: str) -> float:
    """A number from 0 to 100; `2`, `0.5` and `2%` are understood."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)%?", text)
    if match is None or float(match[1]) > 100:
        raise argparse.ArgumentTypeError(f"'{text}' is no percentage; write such as 2 or 0.5")
    return float(match[1])


def seconds(text: str) -> float:
    """A time in seconds above 0; `90`, `1.5`, `2m` and `1h` are understood."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    value = float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0.0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no time; write such as 90, 1.5, 2m or 1h")
    return value


def placed(text: str) -> PlacedElf:
    """An ELF file and where it lies: `FILE` or `FILE@ADDRESS`."""
    try:
        return parse_placed(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


NO_INLINED: Final = Argument(
    "--no-inlined", "Count inlined functions as part of those that hold their code."
)

JSON: Final = Argument("--json", "Print JSON with stable keys instead of tables.")

RECORDING: Final = Argument(
    "FILE",
    "The recording: a file, or a live directory.",
    parse=Path,
    completes="file",
    doors=("cli",),
)

ELF_OPTION: Final = Argument(
    "--elf",
    "The program that was recorded (default: the one the recording names).",
    metavar="ELF",
    parse=Path,
    completes="file",
    doors=("cli",),
)

SYMBOLS: Final = Argument(
    "--symbols",
    "An ELF file beside it, from ADDR on, as boot.elf@0x8000.",
    metavar="ELF@ADDR",
    parse=placed,
    many=True,
    completes="file",
    doors=("cli",),
)

PROGRAM: Final = (ELF_OPTION, SYMBOLS)
"""What was recorded: for commands that take a recording."""

DEPTH: Final = Argument(
    "--depth", "Levels shown; what is at the top has 1.", metavar="N", parse=count
)

MIN_PERCENT: Final = Argument(
    "--min-percent",
    "Leave out what has less than this share of all instructions, inclusive.",
    metavar="P",
    parse=percentage,
)

CALL_SITES_OF: Final = (
    RECORDING,
    Argument("FUNCTION", "The function: NAME, FILE:NAME or 0xADDRESS.", completes="function"),
    Argument("--top", "Call sites shown (default: all).", metavar="N", parse=count),
    JSON,
    *PROGRAM,
)
"""What `callers` and `callees` take."""

ELF_FILE: Final = Argument("ELF", "The program.", parse=Path, completes="file")

BOARD: Final = Argument(
    "--board",
    "The board to emulate: a name that `gdbext boards` lists, or a YAML file.",
    metavar="B",
    required=True,
    completes="board",
)

BOARD_OR_ATTACH: Final = replace(BOARD, required=False)

BOARD_OR_USER: Final = BOARD_OR_ATTACH

USER: Final = Argument(
    "--user",
    "Instead of a board: the emulator of single Linux programs, as qemu-arm.",
    metavar="QEMU",
)

QEMU_ARGS: Final = Argument("QEMU-ARGS", "Arguments added to QEMU's, as they are.", rest=True)
