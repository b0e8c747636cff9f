# SPDX-License-Identifier: GPL-2.0-or-later
"""The conditional branches of a program, or of a part of it: what they are, how they went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gdbext.analyses.refs import FunctionRef, function_ref
from gdbext.coverage.code import mode_of
from gdbext.replay.disassembly import disassemble

if TYPE_CHECKING:
    from gdbext.analyses.program import Program
    from gdbext.coverage.model import Branch, Coverage

__all__ = ["BranchRow", "BranchesReport", "report_branches"]


@dataclass(frozen=True)
class BranchRow:
    """One conditional branch instruction."""

    branch: Branch
    code: bytes
    """As in memory."""
    text: str
    """Disassembled."""
    function: FunctionRef
    file: str | None

    def to_json(self) -> dict[str, Any]:
        """The branch as in `coverage`, with opcode, text, function and file."""
        return {
            **self.branch.to_json(),
            "opcode": self.code.hex(),
            "text": self.text,
            "function": self.function.to_json(),
            "file": self.file,
        }


@dataclass(frozen=True)
class BranchesReport:
    """Conditional branches by address."""

    rows: tuple[BranchRow, ...]

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "gdbext/branches/1"."""
        return {"branches": [row.to_json() for row in self.rows]}


def report_branches(program: Program, coverage: Coverage) -> BranchesReport:
    """Answer `branches`: those of the files, and those of code without one."""
    rows = [
        _row(program, branch, file.path or None)
        for file in (*coverage.files, coverage.no_source)
        for branch in file.branches
    ]
    return BranchesReport(tuple(sorted(rows, key=lambda row: row.branch.address)))


def _row(program: Program, branch: Branch, file: str | None) -> BranchRow:
    symbols, address = program.symbols, branch.address
    code = symbols.bytes_at(address, branch.size) or b""
    mode = mode_of(program.target, symbols.mode_at(address))
    return BranchRow(
        branch,
        code,
        disassemble(program.target, mode, address, code) if code else "?",
        function_ref(symbols, symbols.function_at(address), address),
        file,
    )
