# SPDX-License-Identifier: GPL-2.0-or-later
"""boards: the boards that can be emulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.commands._options import JSON
from gdbext.commands.context import print_json
from gdbext.commands.registry import command
from gdbext.render.page import Column, Table
from gdbext.target.boards import boards as all_boards

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command("boards", "List the boards, one a line.", arguments=[JSON], doors=["cli"])
def boards(context: Context, options: argparse.Namespace) -> None:
    """Print every board with its description."""
    found = all_boards()
    if options.json:
        rows = [
            {
                "name": board.name,
                "description": board.description,
                "qemu": board.qemu,
                "cpu": board.cpu,
                "target": board.target,
                "icount": board.icount,
                "path": str(board.path),
            }
            for board in found
        ]
        print_json(context, "boards", {"boards": rows})
        return
    table = Table("", [Column(""), Column("", flexible=True)])
    for board in found:
        table.add(board.name, board.description)
    context.page.table(table)
