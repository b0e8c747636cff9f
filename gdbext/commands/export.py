# SPDX-License-Identifier: GPL-2.0-or-later
"""export: coverage as files that other tools read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from gdbext.commands._coverage import FILTERS, coverage_settings
from gdbext.commands._options import ELF_OPTION, RECORDING
from gdbext.commands.registry import Argument, command
from gdbext.errors import SymbolError, UsageError
from gdbext.files import write_whole
from gdbext.render.numbers import counted

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
    from gdbext.exporters.functions import known_functions
    from gdbext.exporters.lcov import lcov

    coverage = _with_lines(workspace, options)
    return _of_lines(coverage, lcov(coverage, known_functions(workspace.symbols)))


def _gcovr(workspace: Workspace, options: argparse.Namespace) -> Exported:
    from gdbext.exporters.functions import known_functions
    from gdbext.exporters.gcovr import gcovr_json
    from gdbext.exporters.report import gcovr_version

    coverage = _with_lines(workspace, options)
    text = gcovr_json(coverage, known_functions(workspace.symbols), gcovr_version())
    return _of_lines(coverage, text)


def _csv(workspace: Workspace, options: argparse.Namespace) -> Exported:
    from gdbext.exporters.table import lines_csv

    coverage = _with_lines(workspace, options)
    return _of_lines(coverage, lines_csv(coverage))


def _drcov(workspace: Workspace, options: argparse.Namespace) -> Exported:
    from gdbext.exporters.offsets import drcov, modules_of, place_blocks

    _refuse_filters(options)
    program = workspace.program
    executed = {address for address, n in workspace.execution().insns.items() if n}
    blocks = program.blocks
    placed = place_blocks(
        (
            (blocks.address[block], blocks.sizes(block))
            for block, executions in enumerate(program.tables.executions)
            if executions and block not in program.changed
        ),
        executed,
        modules_of(workspace.symbols.loaded_ranges()),
    )
    holds = f"{counted(len(placed.runs), 'block')} in {counted(len(placed.modules), 'module')}"
    content = drcov(placed, str(workspace.symbols.path))
    return Exported(content, holds, _elsewhere(workspace, placed.outside))


def _offsets(workspace: Workspace, options: argparse.Namespace) -> Exported:
    from gdbext.exporters.offsets import module_offsets, modules_of

    _refuse_filters(options)
    executed = {address for address, n in workspace.execution().insns.items() if n}
    modules = modules_of(workspace.symbols.loaded_ranges())
    text = module_offsets(executed, modules, workspace.symbols.path.name)
    written = text.count("\n")
    holds = counted(written, "instruction")
    outside = _elsewhere(workspace, len(executed) - written)
    return Exported(text.encode(errors="surrogateescape"), holds, outside)


def _of_lines(coverage: Coverage, text: str) -> Exported:
    from gdbext.exporters.functions import left_out

    files = counted(len(coverage.files), "file")
    lines = counted(sum(len(file.lines) for file in coverage.files), "line")
    return Exported(text.encode(errors="surrogateescape"), f"{files}, {lines}", left_out(coverage))


def _elsewhere(workspace: Workspace, outside: int) -> list[str]:
    """What is not in a file of addresses in the program."""
    changed = workspace.execution().changed
    return [
        f"left out: {counted(number, 'executed instruction')} {where}"
        for number, where in (
            (outside, "outside the ELF file"),
            (changed, "with other bytes than the ELF file"),
        )
        if number
    ]


def _refuse_filters(options: argparse.Namespace) -> None:
    """Addresses know no source files, so filters would do nothing."""
    for argument in FILTERS:
        if getattr(options, argument.destination):
            raise UsageError(
                f"export: {argument.name} does not go with --format {options.format}, which has "
                "addresses, no source lines"
            )


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


FORMATS: Final[dict[str, tuple[str, Callable[[Workspace, argparse.Namespace], Exported]]]] = {
    "lcov": ("lines, functions and branches for genhtml, lcov and editors", _lcov),
    "gcovr": ("the same for gcovr --add-tracefile: HTML, Cobertura, SonarQube, JaCoCo..", _gcovr),
    "csv": ("a row for each line", _csv),
    "drcov": ("executed blocks for disassemblers", _drcov),
    "offsets": ("executed instructions as module+offset", _offsets),
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
