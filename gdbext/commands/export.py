# SPDX-License-Identifier: GPL-2.0-or-later
"""export: coverage as files that other tools read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from gdbext.commands._coverage import FILTERS, check_lines, coverage_settings
from gdbext.commands._exports import LINE_FORMATS, Exported, export_lines, put
from gdbext.commands._options import PROGRAM, RECORDING
from gdbext.commands.registry import Argument, command
from gdbext.errors import UsageError
from gdbext.render.numbers import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from gdbext.analyses.workspace import Workspace
    from gdbext.commands.context import Context


def _drcov(workspace: Workspace, options: argparse.Namespace) -> Exported:
    # Only now, here and below: most calls need none of it.
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


ADDRESS_FORMATS: Final[
    dict[str, tuple[str, Callable[[Workspace, argparse.Namespace], Exported]]]
] = {
    "drcov": ("executed blocks for disassemblers", _drcov),
    "offsets": ("executed instructions as module+offset", _offsets),
}
FORMATS: Final = {
    name: what for table in (LINE_FORMATS, ADDRESS_FORMATS) for name, (what, _) in table.items()
}


@command(
    "export",
    "Write coverage for other tools.",
    description=(
        "Formats:\n"
        + "\n".join(f"  {name:8} {what}" for name, what in FORMATS.items())
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
        *PROGRAM,
    ],
    needs=["recording"],
)
def export(context: Context, options: argparse.Namespace) -> None:
    """Write the file and say what is in it, and what is not."""
    workspace = context.asked(options)
    if options.format in LINE_FORMATS:
        coverage = workspace.coverage(coverage_settings(options))
        check_lines(coverage, workspace.symbols)
        exported = export_lines(options.format, coverage, [workspace.symbols])
    else:
        _, make = ADDRESS_FORMATS[options.format]
        exported = make(workspace, options)
    put(options.o, exported, context.page.line)
