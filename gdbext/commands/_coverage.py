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
    from gdbext.coverage.decisions.model import ConditionsReport
    from gdbext.coverage.model import Coverage, Ratio
    from gdbext.symbols import Symbols

__all__ = [
    "CONDITION_LIMITS",
    "EXIT_BELOW",
    "FILTERS",
    "HTML",
    "LIMITS",
    "check_lines",
    "coverage_settings",
    "is_below",
    "is_below_conditions",
    "is_conditions_limited",
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

CONDITION_LIMITS: Final = (
    Argument(
        "--fail-under-conditions",
        f"Exit with status {EXIT_BELOW} below N percent of conditions' outcomes.",
        metavar="N",
        parse=percentage,
        doors=("cli",),
    ),
    Argument(
        "--fail-under-mcdc",
        f"Exit with status {EXIT_BELOW} if MC/DC shows less than N percent.",
        metavar="N",
        parse=percentage,
        doors=("cli",),
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
    found = [
        _is_below(options, what, getattr(result.totals, what))
        for what in ("lines", "branches", "functions")
    ]
    return any(found)


def is_conditions_limited(options: argparse.Namespace) -> bool:
    """Whether conditions have a limit."""
    return any(
        getattr(options, f"fail_under_{what}", None) is not None for what in ("conditions", "mcdc")
    )


def is_below_conditions(options: argparse.Namespace, report: ConditionsReport) -> bool:
    """As `is_below`. Where nothing could be proven no limit is kept."""
    totals = report.totals()
    found = [
        _is_below(options, what, getattr(totals, what), totals.not_provable)
        for what in ("conditions", "mcdc")
    ]
    return any(found)


def _is_below(options: argparse.Namespace, what: str, ratio: Ratio, not_provable: int = 0) -> bool:
    limit: float | None = getattr(options, f"fail_under_{what}", None)
    reached = ratio.percent
    if limit is None:
        return False
    if reached is None:
        if not_provable:
            print(f"gdbext: {what}: no decision is provable, under {limit:g}%", file=sys.stderr)
        return bool(not_provable)
    if reached < limit:
        # Rounded down: 79.97 is not 80.
        shown = int(reached * 10) / 10
        print(f"gdbext: {what}: {shown:.1f}% covered, under {limit:g}%", file=sys.stderr)
    return reached < limit
