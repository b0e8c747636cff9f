# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments of the commands about coverage, and the settings they make."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from gdbext.commands.registry import Argument
from gdbext.coverage.exclusions import Exclusions, read_list
from gdbext.coverage.filters import FileFilter
from gdbext.coverage.measure import Settings

__all__ = ["FILTERS", "coverage_settings"]


def rename(text: str) -> tuple[str, str]:
    """`FROM=TO`: the beginning of a path, and what stands for it on this machine."""
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise argparse.ArgumentTypeError(f"'{text}' is no FROM=TO, such as /build/fw=/home/me/fw")
    return old, new


FILTERS: Final = (
    Argument(
        "--include",
        "Only source files of this pattern: heap.c, src/*.c or */drivers/*.",
        metavar="PATTERN",
        many=True,
    ),
    Argument("--exclude", "No source files of this pattern.", metavar="PATTERN", many=True),
    Argument(
        "--all",
        "Also compilers' and libraries' files, and code without a source file.",
    ),
    Argument(
        "--source-map",
        "Source paths that begin with FROM are at TO.",
        metavar="FROM=TO",
        parse=rename,
        many=True,
    ),
    Argument(
        "--exclusions",
        "A YAML list of lines and functions that do not count, with reasons.",
        metavar="LIST",
        parse=Path,
        many=True,
        completes="file",
    ),
)


def coverage_settings(options: argparse.Namespace) -> Settings:
    """What the arguments say.

    Raises:
        ConfigError: a list of exclusions is wrong.
    """
    entries = [entry for path in options.exclusions for entry in read_list(path.expanduser())]
    files = FileFilter(
        tuple(options.include),
        tuple(options.exclude),
        tuple(options.source_map),
        everything=options.all,
    )
    return Settings(files, Exclusions(entries))
