# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of `start` and `record` that say which part of a run is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gdbext.commands._options import ring_size
from gdbext.commands._places import file_ranges, function_ranges, instructions_at, range_of
from gdbext.commands.registry import Argument
from gdbext.errors import UsageError
from gdbext.symbols import Symbols
from gdbext.target.filter import EVERYTHING, RecordingFilter

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

__all__ = ["FILTER_ARGUMENTS", "FILTER_HELP", "filter_of"]

FILTER_HELP: Final = (
    "With --function, --file and --range (any number of them) only that code is recorded, with\n"
    "the blocks before and after it (its callers and callees), and interrupts of it. With --from\n"
    "recording begins when LOC is reached, with --to it ends there, again and again. All of it\n"
    "acts in the recorder, without a stop, at whole blocks. What was left out is counted, and\n"
    "every answer says that the recording is filtered."
)

FILTER_ARGUMENTS: Final = (
    Argument(
        "--function",
        "Record this function: NAME, FILE:NAME or 0xADDRESS.",
        metavar="F",
        many=True,
        completes="function",
    ),
    Argument("--file", "Record the functions of this source file.", metavar="SOURCE", many=True),
    Argument(
        "--range",
        "Record the code from A up to before B: addresses or functions.",
        metavar="A:B",
        many=True,
    ),
    Argument(
        "--from",
        "Begin when LOC is reached: a function, 0xADDRESS or FILE:LINE.",
        metavar="LOC",
        completes="function",
    ),
    Argument(
        "--to",
        "End when LOC is reached; with --from, until it is reached again.",
        metavar="LOC",
        completes="function",
    ),
    Argument(
        "--ring",
        "Keep only the last SIZE bytes on disk, such as 64M; what is older goes.",
        metavar="SIZE",
        parse=ring_size,
    ),
    Argument("--once", "With --from and --to: only the first time."),
)


def filter_of(options: argparse.Namespace, elf: Path | None) -> RecordingFilter:
    """What the options say.

    Args:
        elf: the program that names are of.

    Raises:
        UsageError: they name what is not there, or contradict each other.
        SymbolError: the program cannot be read.
    """
    begin, end = getattr(options, "from"), options.to
    given = [("--function", f) for f in options.function]
    given += [("--file", f) for f in options.file]
    given += [("--range", r) for r in options.range]
    given += [("--from", begin)] if begin else []
    given += [("--to", end)] if end else []
    if options.once and not (begin and end):
        raise UsageError("--once needs --from and --to")
    if not given:
        return EVERYTHING
    if elf is None:
        raise UsageError(f"{given[0][0]}: there is no program; give it with `file ELF`")
    symbols = Symbols.open(elf)
    ranges: list[tuple[int, int]] = []
    for name in options.function:
        ranges += function_ranges(symbols, name)
    for name in options.file:
        ranges += file_ranges(symbols, name)
    ranges += [range_of(symbols, text) for text in options.range]
    begins = instructions_at(symbols, begin) if begin else []
    ends = instructions_at(symbols, end) if end else []
    if set(begins) & set(ends):
        raise UsageError(f"--from {begin} --to {end}: are the same place")
    words = [f"{option} {value}" for option, value in given]
    return RecordingFilter(
        ranges=tuple(sorted(ranges)),
        begin=tuple(begins),
        end=tuple(ends),
        once=options.once,
        text=" ".join([*words, *(["--once"] if options.once else [])]),
    )
