# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions and symbols of an ELF file, as the cross binutils tell them."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PREFIXES", "Instruction", "SizedFunction", "disassemble", "functions", "symbols"]

PREFIXES: Final = {
    "arm": "arm-none-eabi-",
    "aarch64": "aarch64-linux-gnu-",
    "riscv32": "riscv64-unknown-elf-",
    "riscv64": "riscv64-unknown-elf-",
    "x86_64": "x86_64-linux-gnu-",
}


@dataclass(frozen=True)
class Instruction:
    """One line of objdump: data between instructions is not among them."""

    address: int
    size_bytes: int
    text: str


@dataclass(frozen=True)
class SizedFunction:
    """A code symbol with a size; it covers [address, address + size_bytes)."""

    name: str
    address: int
    size_bytes: int


def disassemble(elf: Path, target: str) -> dict[int, Instruction]:
    """Return the instructions of the file's code sections by address (objdump -d)."""
    lines = _run(target, "objdump", "-d", "--wide", str(elf)).splitlines()
    instructions = {}
    for match in filter(None, map(_LINE.match, lines)):
        address, code, text = match.groups()
        if not text.startswith((".word", ".short", ".byte")):
            size_bytes = len(code.replace(" ", "")) // 2
            instructions[int(address, 16)] = Instruction(int(address, 16), size_bytes, text)
    return instructions


def symbols(elf: Path, target: str) -> dict[str, int]:
    """Return the address of each symbol (nm), without the Thumb bit; of equal names the last."""
    rows = (line.split() for line in _run(target, "nm", str(elf)).splitlines())
    return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}


def functions(elf: Path, target: str, kinds: str = "tTwW") -> list[SizedFunction]:
    """Return the code symbols that have a size (nm -S), without the Thumb bit.

    Args:
        kinds: nm's letters; "bBdD" gives variables.
    """
    rows = (line.split() for line in _run(target, "nm", "-S", str(elf)).splitlines())
    return [
        SizedFunction(row[3], int(row[0], 16), int(row[1], 16))
        for row in rows
        if len(row) == 4 and row[2] in kinds
    ]


_LINE = re.compile(r"^ *([0-9a-f]+):\t((?:[0-9a-f]{2,8} ?)+)\s*\t(.*)$")


def _run(target: str, tool: str, *arguments: str) -> str:
    program = PREFIXES[target] + tool
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    return done.stdout
