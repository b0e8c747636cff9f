# SPDX-License-Identifier: GPL-2.0-or-later
"""Cortex-M programs whose recordings grow fast: by their way, and by their block table."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

__all__ = ["ENDS_WITH", "many_blocks_elf", "wanderer_elf"]

ENDS_WITH: Final = "finished"
"""What the program says at its end."""

SOURCE: Final = r"""
typedef unsigned u32;

void start(void);
__attribute__((section(".vectors"), used)) static void *const vectors[] = {
    (void *)0x20010000, (void *)start};

static volatile u32 sink;

#define LEAF(n) static __attribute__((noinline)) void leaf##n(void) { sink = n; }
#define LEAVES(x) LEAF(x##0) LEAF(x##1) LEAF(x##2) LEAF(x##3) \
                  LEAF(x##4) LEAF(x##5) LEAF(x##6) LEAF(x##7)
#define NAMES(x) leaf##x##0, leaf##x##1, leaf##x##2, leaf##x##3, \
                 leaf##x##4, leaf##x##5, leaf##x##6, leaf##x##7,

LEAVES(1) LEAVES(2) LEAVES(3) LEAVES(4) LEAVES(5) LEAVES(6) LEAVES(7) LEAVES(8)

static void (*const leaves[])(void) = {
    NAMES(1) NAMES(2) NAMES(3) NAMES(4) NAMES(5) NAMES(6) NAMES(7) NAMES(8)};

static void semihost(u32 operation, const void *argument)
{
    register u32 r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;

    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void start(void)
{
    u32 x = 1;

    for (u32 i = 0; i < ROUNDS; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        leaves[x >> 8 & 63]();
    }
    semihost(4, "finished\n");
    semihost(0x18, (void *)0x20026);
    for (;;) {
    }
}
"""


def wanderer_elf(directory: Path, rounds: int) -> Path:
    """Build it for the MPS2 AN385 (Cortex-M3); skips without the cross compiler.

    It takes about one byte of compressed recording for each round, and ends with exit status 0.
    """
    source = directory / "wanderer.c"
    elf = directory / f"wanderer-{rounds}.elf"
    source.write_text(SOURCE)
    words = ["-mcpu=cortex-m3", "-mthumb", "-O1", "-g", "-nostdlib", f"-DROUNDS={rounds}u"]
    link = ["-Wl,-Ttext=0x100", "-Wl,--section-start=.vectors=0", "-Wl,-e,start"]
    _compile([*words, *link, "-o", str(elf), str(source)])
    return elf


def many_blocks_elf(directory: Path, n_blocks: int) -> Path:
    """Build a program for the same board of so many branches to the next instruction.

    Then it stays at the last one for ever. Skips without the cross compiler.
    """
    source = directory / "blocks.s"
    elf = directory / "blocks.elf"
    source.write_text(
        ".syntax unified\n.cpu cortex-m3\n.thumb\n.word 0x20001000\n.word _start\n"
        ".global _start\n.type _start, %function\n.thumb_func\n_start:\n"
        f".rept {n_blocks}\nb 1f\n1:\n.endr\nb .\n"
    )
    _compile(["-nostdlib", "-Wl,-Ttext=0", "-o", str(elf), str(source)])
    return elf


def _compile(words: list[str]) -> None:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    subprocess.run(["arm-none-eabi-gcc", *words], check=True)
