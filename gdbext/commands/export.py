# SPDX-License-Identifier: GPL-2.0-or-later
"""export: coverage as files that other tools read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from gdbext.commands._coverage import FILTERS, coverage_settings
from gdbext.commands._options import ELF_OPTION, RECORDING
from gdbext.commands.registry import Argument, command
from gdbext.errors import SymbolError
from gdbext.files import write_whole

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from gdbext.analyses.workspace import Workspace
    from gdbext.commands.context import Context
    from gdbext.coverage.model import Coverage


class Exported(NamedTuple):
    """A file's content, what is in it, and remarks on what is not."""

    content: bytes
    holds: str
    remarks: list[str]


def _lcov(workspace: Workspace, options: argparse.Namespace) -> Exported:
    # Only now, here and below: it loads much.
    from gdbext.exporters.functions import left_out
    from gdbext.exporters.lcov import lcov

    coverage = _with_lines(workspace, options)
    text = lcov(coverage, _linker_names(workspace))
    holds = f"{len(coverage.files)} files, {coverage.totals.lines.total} lines"
    return Exported(text.encode(errors="surrogateescape"), holds, left_out(coverage))


def _with_lines(workspace: Workspace, options: argparse.Namespace) -> Coverage:
    """Coverage by source line.

    Raises:
        SymbolError: there are no lines.
    """
    coverage = workspace.coverage(coverage_settings(options))
    if coverage.files:
        return coverage
    if coverage.filtered_files:
        raise SymbolError(
            f"{workspace.symbols.path}: the filters leave out all source files: see --include and "
            "--all"
        )
    raise SymbolError(f"{workspace.symbols.path}: no source lines to export: build with -g")


def _linker_names(workspace: Workspace) -> dict[int, str]:
    """Mangled names by address."""
    return {function.address: function.raw_name for function in workspace.symbols.functions}


FORMATS: Final[dict[str, tuple[str, Callable[[Workspace, argparse.Namespace], Exported]]]] = {
    "lcov": ("lines, functions and branches for genhtml, lcov and editors", _lcov),
}


@command(
    "export",
    "Write coverage for other tools.",
    description=(
        "Formats:\n"
        + "\n".join(f"  {name:8} {what}" for name, (what, _) in FORMATS.items())
        + "\nThe file gets its name when it is whole; one that is there is replaced."
    ),
    arguments=[
        RECORDING,
        Argument(
            "--format",
            f"One of {', '.join(FORMATS)}.",
            metavar="F",
            choices=tuple(FORMATS),
            required=True,
        ),
        Argument(
            "-o",
            "The file to write.",
            metavar="OUT",
            parse=Path,
            required=True,
            completes="file",
        ),
        *FILTERS,
        ELF_OPTION,
    ],
    needs=["recording"],
)
def export(context: Context, options: argparse.Namespace) -> None:
    """Write the file and say what is in it, and what is not."""
    path: Path = options.o.expanduser()
    _, make = FORMATS[options.format]
    exported = make(context.workspace(options), options)
    write_whole(path, exported.content)
    context.page.line(f"{path}: {exported.holds}")
    for remark in exported.remarks:
        context.page.line(remark)
