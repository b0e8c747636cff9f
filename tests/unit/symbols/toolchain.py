# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds small ELF files for the tests, and asks binutils about them."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Toolchain:
    """A compiler, its flags for bare metal, and the prefix of its binutils."""

    name: str
    compiler: str
    flags: tuple[str, ...]
    prefix: str


CORTEX_M = Toolchain(
    "cortex-m3", "arm-none-eabi-gcc", ("-mcpu=cortex-m3", "-mthumb"), "arm-none-eabi-"
)
ARM = Toolchain("a32", "arm-none-eabi-gcc", ("-mcpu=cortex-a9", "-marm"), "arm-none-eabi-")
AARCH64 = Toolchain("aarch64", "aarch64-linux-gnu-gcc", ("-mcpu=cortex-a53",), "aarch64-linux-gnu-")
RV32 = Toolchain(
    "rv32", "riscv64-unknown-elf-gcc", ("-march=rv32imac", "-mabi=ilp32"), "riscv64-unknown-elf-"
)
RV64 = Toolchain(
    "rv64", "riscv64-unknown-elf-gcc", ("-march=rv64gc", "-mabi=lp64d"), "riscv64-unknown-elf-"
)
X86_64 = Toolchain("x86_64", "gcc", ("-no-pie", "-fno-pic"), "")
CLANG = Toolchain("clang", "clang", ("-no-pie", "-fno-pic"), "")
BIG_ENDIAN = Toolchain(
    "big-endian", "arm-none-eabi-gcc", ("-mcpu=cortex-a9", "-mbig-endian"), "arm-none-eabi-"
)
ALL = (CORTEX_M, ARM, AARCH64, RV32, RV64, X86_64, CLANG, BIG_ENDIAN)


def need(tool: str) -> str:
    """Path of a program; the test is skipped without it."""
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"{tool} is not installed")
    return found


def run(*command: str | Path, text: str = "") -> str:
    """Output of a program that must succeed."""
    done = subprocess.run(
        [need(str(command[0])), *map(str, command[1:])],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def build(
    folder: Path,
    toolchain: Toolchain,
    sources: dict[str, str],
    *flags: str,
    base: int = 0x8000,
    output: str = "program.elf",
) -> Path:
    """Compile and link sources (name to text) with the code at `base`; nothing is linked in."""
    objects = []
    for name, text in sources.items():
        source = folder / name
        source.write_text(text)
        objects.append(folder / f"{name}.o")
        compile_flags = [f for f in flags if not f.startswith("-Wl,")]
        language = [] if name.endswith((".s", ".S")) else ["-ffreestanding"]
        run(
            toolchain.compiler, *toolchain.flags, *language, "-g", *compile_flags,
            "-c", source, "-o", objects[-1],
        )  # fmt: skip
    elf = folder / output
    link_flags = [f for f in flags if f.startswith("-Wl,")]
    run(
        toolchain.compiler, *toolchain.flags, "-nostdlib", "-nostartfiles", "-static",
        f"-Wl,-Ttext={base:#x}", "-Wl,-e,main", *link_flags, *objects, "-o", elf,
    )  # fmt: skip
    return elf


def nm_functions(toolchain: Toolchain, elf: Path) -> dict[int, tuple[set[str], int]]:
    """Names and size by address (without Thumb bit) of what readelf calls FUNC."""
    functions: dict[int, tuple[set[str], int]] = {}
    for line in run("readelf", "-sW", elf).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[3] == "FUNC" and fields[6] != "UND":
            thumb = 1 if toolchain.prefix.startswith("arm") else 0
            address = int(fields[1], 16) & ~thumb
            names, size = functions.get(address, (set(), 0))
            functions[address] = (names | {fields[7]}, max(size, int(fields[2], 0)))
    return functions


def instruction_addresses(toolchain: Toolchain, elf: Path) -> list[int]:
    """Every address that objdump disassembles."""
    listing = run(f"{toolchain.prefix}objdump", "-d", elf)
    return [int(match[1], 16) for match in re.finditer(r"^\s*([0-9a-f]+):\t", listing, re.M)]


def addr2line(
    elf: Path, addresses: list[int], tool: str = "addr2line"
) -> list[list[tuple[str, str]]]:
    """(function, file:line) chains, innermost first; unknown lines are '??'."""
    text = "\n".join(map(hex, addresses))
    chains: list[list[tuple[str, str]]] = []
    lines = run(tool, "-a", "-i", "-f", "-C", "-e", elf, text=text).splitlines()
    at = 0
    while at < len(lines):
        if re.fullmatch(r"0x[0-9a-f]+", lines[at]):
            chains.append([])
            at += 1
            continue
        place = lines[at + 1].split(" (discriminator")[0]
        unknown = place.startswith("??") or place.endswith((":?", ":0"))
        chains[-1].append((lines[at], "??" if unknown else place))
        at += 2
    return chains
