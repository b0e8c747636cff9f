# SPDX-License-Identifier: GPL-2.0-or-later
"""A Cortex-M program that never ends and never repeats soon, and whose every step can be computed.

A shift register of 16 bits decides in each round whether one instruction is executed. So any 16
rounds tell where in its period of 65535 rounds the program is, and all that must follow.
"""

from __future__ import annotations

import shutil
import subprocess
from array import array
from functools import cache
from pathlib import Path
from typing import Final

import pytest

__all__ = ["BOARD", "LOOP", "contradiction", "lfsr_elf", "wfi_elf"]

BOARD: Final = "mps2-an385"

LOOP: Final = 0x40
"""Address of a round's first instruction."""

_TAPS: Final = 0xB400
_PERIOD: Final = 65535
_SKIPPED: Final = LOOP + 4
_DEVICE_READS: Final = 8
_ROUND: Final = tuple(range(LOOP, LOOP + 2 * (4 + _DEVICE_READS), 2))

_SOURCE: Final = f"""
        .syntax unified
        .cpu cortex-m3
        .thumb
        .word   0x20001000
        .word   _start
        .global _start
        .type   _start, %function
        .thumb_func
_start: movs    r0, #1
        movw    r1, #{_TAPS:#x}
        movw    r2, #0x4000
        movt    r2, #0x4000     @ the UART: reads that leave blocks in the middle, and take time
        b.w     round
        .balign {LOOP}
        .type   round, %function
        .thumb_func
round:  lsrs    r0, r0, #1
        bcc.n   even
        eors    r0, r0, r1
even:
        .rept   {_DEVICE_READS}
        ldr     r3, [r2, #4]
        .endr
        b.n     round
"""


def lfsr_elf(directory: Path) -> Path:
    """Build the program; skips without the cross compiler."""
    return _assembled(directory, "lfsr", _SOURCE)


def wfi_elf(directory: Path) -> Path:
    """Build a program that sleeps for ever, with nothing to wake it."""
    return _assembled(
        directory,
        "wfi",
        ".syntax unified\n.cpu cortex-m3\n.thumb\n.word 0x20001000\n.word _start\n"
        ".global _start\n.type _start, %function\n.thumb_func\n"
        "_start: movs r0, #1\nsleep: wfi\n b sleep\n",
    )


def contradiction(piece: array[int]) -> str | None:
    """Return None if the program can execute exactly this, else why it cannot."""
    if LOOP not in piece:
        return _in_order(tuple(piece)) if len(piece) and piece[0] in _ROUND else None
    first = piece.index(LOOP)
    if first and piece[0] in _ROUND and (wrong := _in_order(tuple(piece[:first]))):
        return wrong
    bits = []
    place = first
    while place < len(piece):
        taken = place + 2 < len(piece) and piece[place + 2] == _SKIPPED
        expected = _ROUND if taken else tuple(a for a in _ROUND if a != _SKIPPED)
        got = tuple(piece[place : place + len(expected)])
        if got != expected[: len(got)]:
            return f"a round at {place}: {' '.join(map(hex, got))}"
        if len(got) > 2:
            bits.append(taken)
        place += len(expected)
    sequence, places = _sequence()
    if len(bits) < 16:
        return None
    start = places.get(tuple(bits[:16]))
    if start is None:
        return "16 rounds that the shift register does not make"
    for number, bit in enumerate(bits):
        if bit != sequence[(start + number) % _PERIOD]:
            return f"round {number} of {len(bits)} is not the one after the round before"
    return None


def _in_order(part: tuple[int, ...]) -> str | None:
    """The end of a round: the addresses rise, and only the optional instruction is left out."""
    for full in (_ROUND, tuple(a for a in _ROUND if a != _SKIPPED)):
        if part[0] in full:
            start = full.index(part[0])
            if full[start : start + len(part)] == part:
                return None
    return f"part of a round: {' '.join(map(hex, part))}"


@cache
def _sequence() -> tuple[list[bool], dict[tuple[bool, ...], int]]:
    """The bits of a whole period, and where each 16 of them begin."""
    bits = []
    state = 1
    for _ in range(_PERIOD):
        low = bool(state & 1)
        bits.append(low)
        state >>= 1
        if low:
            state ^= _TAPS
    assert state == 1
    ring = bits + bits[:15]
    return bits, {tuple(ring[i : i + 16]): i for i in range(_PERIOD)}


def _assembled(directory: Path, name: str, text: str) -> Path:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    source = directory / f"{name}.s"
    source.write_text(text)
    elf = directory / f"{name}.elf"
    subprocess.run(
        ["arm-none-eabi-gcc", "-nostdlib", "-Wl,-Ttext=0", "-o", str(elf), str(source)], check=True
    )
    return elf
