# SPDX-License-Identifier: GPL-2.0-or-later
"""A second implementation of the token format, in plain Python, from docs/trace-format.md alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

PREDICTOR_BITS = 14
HISTORY_SHIFT = 3
MULTIPLIER = 0x9E3779B1
SECOND, NEW, EVENT, END = range(4)

Step = int | tuple[int, bytes]
"""A block id, or an event's number and payload."""


class DamagedTokensError(Exception):
    """The tokens break a rule of the format."""


@dataclass
class Predictor:
    """Table and history."""

    first: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    second: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    history: int = 0

    @property
    def slot(self) -> int:
        return self.history >> (32 - PREDICTOR_BITS)

    def step(self, block: int) -> None:
        self.history = ((self.history << HISTORY_SHIFT) + block * MULTIPLIER) % (1 << 32)


def leb(value: int) -> bytes:
    """Unsigned LEB128."""
    out = []
    while True:
        out.append(value % 128)
        value //= 128
        if not value:
            break
    return bytes([byte | 0x80 for byte in out[:-1]] + out[-1:])


def read_leb(data: bytes, place: int) -> tuple[int, int]:
    """A number and the place behind it."""
    value = 0
    for index in range(10):
        if place + index >= len(data):
            break
        byte = data[place + index]
        value += (byte % 128) << (7 * index)
        if byte < 128:
            if value >= 1 << 64:
                break
            return value, place + index + 1
    raise DamagedTokensError("leb")


def encode(steps: list[Step], *, end: bool = True) -> tuple[bytes, int]:
    """Tokens of a chunk, and the open run if it does not end."""
    predictor = Predictor()
    out = bytearray()
    run = 0

    def head(kind: int) -> bytes:
        nonlocal run
        small = min(run, 63)
        first = bytes([small * 4 + kind]) + (leb(run - 63) if small == 63 else b"")
        run = 0
        return first

    for step in steps:
        if isinstance(step, tuple):
            out += head(EVENT) + bytes([step[0]]) + leb(len(step[1])) + step[1]
            continue
        slot = predictor.slot
        if predictor.first[slot] == step:
            run += 1
        elif predictor.second[slot] == step:
            out += head(SECOND)
            predictor.second[slot], predictor.first[slot] = predictor.first[slot], step
        else:
            out += head(NEW) + leb(step)
            predictor.second[slot], predictor.first[slot] = predictor.first[slot], step
        predictor.step(step)
    if end:
        out += head(END)
    return bytes(out), run


def decode(raw: bytes, max_block: int, run: int = 0) -> list[Step]:
    """What a chunk says.

    Raises:
        DamagedTokensError: a rule of the format is broken.
    """
    predictor = Predictor()
    steps: list[Step] = []

    def predicted(count: int) -> None:
        for _ in range(count):
            block = predictor.first[predictor.slot]
            if not block:
                raise DamagedTokensError("nothing is predicted")
            steps.append(block)
            predictor.step(block)

    place = 0
    while place < len(raw):
        kind, length = raw[place] % 4, raw[place] // 4
        place += 1
        if length == 63:
            more, place = read_leb(raw, place)
            length += more
            if length >= 1 << 20:
                raise DamagedTokensError("a run longer than any in these tests")
        predicted(length)
        slot = predictor.slot
        if kind == END:
            if place != len(raw):
                raise DamagedTokensError("bytes after END")
            return steps
        if kind == EVENT:
            if place >= len(raw) or not 1 <= raw[place] <= 10:
                raise DamagedTokensError("event")
            event = raw[place]
            size, place = read_leb(raw, place + 1)
            if place + size > len(raw):
                raise DamagedTokensError("event length")
            steps.append((event, raw[place : place + size]))
            place += size
            continue
        if kind == SECOND:
            block = predictor.second[slot]
        else:
            block, place = read_leb(raw, place)
        if not 1 <= block <= max_block:
            raise DamagedTokensError("block id")
        predictor.second[slot], predictor.first[slot] = predictor.first[slot], block
        steps.append(block)
        predictor.step(block)
    predicted(run)
    return steps
