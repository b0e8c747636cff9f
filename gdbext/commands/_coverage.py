# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments of the commands about coverage, and the settings they make."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gdbext.commands._options import percentage
from gdbext.commands.context import tell
from gdbext.commands.registry import Argument
from gdbext.coverage.exclusions import Exclusions, read_list
from gdbext.coverage.filters import FileFilter
from gdbext.coverage.measure import Settings
from gdbext.errors import SymbolError

if TYPE_CHECKING:
    from gdbext.commands.context import Context
    from gdbext.coverage.model import Coverage
    from gdbext.symbols import Symbols

__all__ = [
    "EXIT_BELOW",
    "FILTERS",
    "HTML",
    "LIMITS",
    "check_lines",
    "coverage_settings",
    "is_below",
    "write_html",
]

EXIT_BELOW: Final = 3
"""Exit status when coverage is under a limit."""


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


HTML: Final = Argument(
    "--html",
    "Also write an HTML report to this folder, with gcovr or genhtml.",
    metavar="DIR",
    parse=Path,
    completes="file",
)

LIMITS: Final = tuple(
    Argument(
        f"--fail-under-{what}",
        f"Exit with status {EXIT_BELOW} if less than N percent of {what} ran.",
        metavar="N",
        parse=percentage,
        doors=("cli",),
    )
    for what in ("lines", "branches", "functions")
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


def check_lines(coverage: Coverage, symbols: Symbols) -> None:
    """Refuse what has no source lines to write.

    Raises:
        SymbolError: there are no lines.
    """
    if coverage.files:
        return
    if coverage.filtered_files:
        raise SymbolError(
            f"{symbols.path}: the filters leave out all source files: see --include and --all"
        )
    raise SymbolError(f"{symbols.path}: no source lines to write: build with -g")


def write_html(context: Context, coverage: Coverage, builds: list[Symbols], folder: Path) -> None:
    """Write an HTML report and say where it is.

    Args:
        builds: the programs, the first gives its name to the report.

    Raises:
        SymbolError: there are no lines.
        TargetError: neither gcovr nor genhtml is installed, or it fails.
        GdbextError: the folder cannot be written.
    """
    # Only now: most calls write none.
    from gdbext.exporters.functions import known_functions
    from gdbext.exporters.report import write_report

    check_lines(coverage, builds[0])
    folder = folder.expanduser()
    title = f"{builds[0].path.name}: coverage of the binary"
    tool = write_report(coverage, known_functions(*builds), folder, title)
    tell(context, f"{folder / 'index.html'}: written by {tool}")


def is_below(options: argparse.Namespace, result: Coverage) -> bool:
    """Say on standard error what is under its limit. Nothing to cover is not under any."""
    below = False
    for what in ("lines", "branches", "functions"):
        limit = getattr(options, f"fail_under_{what}")
        reached = getattr(result.totals, what).percent
        if limit is not None and reached is not None and reached < limit:
            # Rounded down: 79.97 is not 80.
            shown = int(reached * 10) / 10
            print(f"gdbext: {what}: {shown:.1f}% covered, under {limit:g}%", file=sys.stderr)
            below = True
    return below
