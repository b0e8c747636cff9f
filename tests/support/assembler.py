# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks from the GNU assembler, and how the classifier says that they end."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from gdbext.recording.blocks import BlockTable, pack_block
from gdbext.replay.classify import NO_TARGET, EndFlag, EndKind, classify
from tests.truth.listing import listing

if TYPE_CHECKING:
    from pathlib import Path

NONE = EndFlag.NONE
CONDITIONAL = EndFlag.CONDITIONAL
MEMORY = EndFlag.MEMORY
EXC = EndFlag.MAY_EXC_RETURN
WAIT = EndFlag.WAIT
REPEAT = EndFlag.REPEAT

BASE = 0x8000000

Block = tuple[int, bytes, bytes]
"""Address, sizes, code."""


def table_of(blocks: list[Block]) -> BlockTable:
    table = BlockTable()
    table.append(b"".join(pack_block(*block) for block in blocks), "test")
    return table


class Assembler:
    """One GNU assembler with fixed options."""

    def __init__(self, tmp_path: Path, prefix: str, options: str, head: str = "") -> None:
        self.assembler = f"{prefix}as"
        self.path = tmp_path
        self.prefix = prefix
        self.options = options.split()
        self.head = head
        if shutil.which(self.assembler) is None:
            pytest.skip(f"{self.assembler} is not installed")

    def block(self, text: str, objdump_options: tuple[str, ...] = ()) -> Block:
        """A block at BASE that holds these instructions (separated by semicolons)."""
        source, out = self.path / "a.s", self.path / "a.o"
        source.write_text(self.head + text.replace(";", "\n") + "\n")
        subprocess.run([self.assembler, *self.options, "-o", out, source], check=True)
        objdump = f"{self.prefix}objdump"
        objdump = objdump if shutil.which(objdump) else "objdump"
        insns = [insn for insn in listing(objdump, out, "-z", *objdump_options) if insn is not None]
        sizes = bytes(len(insn.code) for insn in insns)
        return BASE, sizes, b"".join(insn.code for insn in insns)


def check(
    target: str,
    block: Block,
    kind: EndKind,
    flags: EndFlag,
    offset: int | None,
    *,
    mode: str | None = None,
    m_profile: bool = False,
) -> None:
    """The block ends so; `offset` is that of its target from BASE."""
    result = classify(target, table_of([block]), lambda _: mode, m_profile)

    assert EndKind(result.end_kind[1]) == kind
    assert EndFlag(result.flags[1]) == flags
    assert result.target[1] == (NO_TARGET if offset is None else BASE + offset)
