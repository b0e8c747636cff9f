# SPDX-License-Identifier: GPL-2.0-or-later
"""What a recording says was executed, instruction by instruction, to compare with a log.

Decodes with the C decoder; all that follows (cut blocks, events at their places) is done anew here
from docs/trace-format.md, so that it checks the replay as well.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Final

from gdbext.nativelib import Item, library
from gdbext.recording.format import Event, unpack_leb
from gdbext.recording.reader import ChunkData, Recording

__all__ = ["At", "VcpuRun", "events_of", "executed", "first_difference", "marks", "pieces", "turns"]

MARK_START: Final = 1
MARK_STOP: Final = 2
_ITEMS: Final = 1 << 16


@dataclass(frozen=True)
class At:
    """An event, and how many instructions of its vCPU come before it."""

    place: int
    event: Event
    payload: bytes

    @property
    def numbers(self) -> tuple[int, ...]:
        """The payload's leading numbers, as many as the event has fields of this kind."""
        out = []
        offset = 0
        for _ in range(_NUMBERS[self.event]):
            value, offset = unpack_leb(self.payload, offset)
            out.append(value)
        return tuple(out)


@dataclass
class VcpuRun:
    """What one vCPU executed."""

    addresses: array[int] = field(default_factory=lambda: array("Q"))
    """Begun instructions, oldest first."""
    events: list[At] = field(default_factory=list)
    """All events but CUT, oldest first."""
    starts: array[int] = field(default_factory=lambda: array("Q"))
    """Where in `addresses` each block begins."""
    last_block: int = 0
    """How many instructions of the newest block are at the end of `addresses`."""


def executed(source: Recording | Path | str) -> list[VcpuRun]:
    """Return what each vCPU executed, from a recording or its path."""
    if not isinstance(source, Recording):
        with Recording.open(source) as recording:
            return executed(recording)
    table = _instructions_of_blocks(source)
    runs = [VcpuRun() for _ in range(source.n_vcpus)]
    for chunk in source.data():
        _take_chunk(runs[chunk.vcpu], chunk, table)
    return runs


def events_of(recording: Recording) -> list[list[At]]:
    """Return each vCPU's events alone, for long recordings; places count blocks instead."""
    found: list[list[At]] = [[] for _ in range(recording.n_vcpus)]
    n_blocks = [0] * recording.n_vcpus
    for chunk in recording.data():
        for ids, event, payload in _steps(chunk, recording.blocks.count):
            n_blocks[chunk.vcpu] += len(ids)
            if event is not None:
                found[chunk.vcpu].append(At(n_blocks[chunk.vcpu], event, payload))
    return found


def marks(run: VcpuRun) -> list[tuple[int, int, str]]:
    """Return (place, kind, text) of each MARK."""
    found = []
    for at in run.events:
        if at.event == Event.MARK:
            kind, offset = unpack_leb(at.payload, 0)
            _, offset = unpack_leb(at.payload, offset)
            found.append((at.place, kind, at.payload[offset:].decode()))
    return found


def pieces(run: VcpuRun) -> list[array[int]]:
    """Return what ran from each start to its stop, or to the recording's end."""
    found = []
    begun: int | None = None
    for place, kind, _ in marks(run):
        if kind == MARK_START:
            assert begun is None, "a start in a piece"
            begun = place
        elif kind == MARK_STOP:
            assert begun is not None, "a stop outside a piece"
            found.append(run.addresses[begun:place])
            begun = None
    if begun is not None:
        found.append(run.addresses[begun:])
    return found


def turns(runs: list[VcpuRun]) -> list[tuple[int, int]]:
    """Return (vCPU, address) of all instructions in the order that TURN events tell."""
    stretches: list[tuple[int, int, array[int]]] = []
    for vcpu, run in enumerate(runs):
        places = [(at.numbers[0], at.place) for at in run.events if at.event == Event.TURN]
        first_end = places[0][1] if places else len(run.addresses)
        if first_end:  # only the vCPU that ran first has instructions before its first turn
            stretches.append((-1, vcpu, run.addresses[:first_end]))
        ends = [place for _, place in places[1:]] + [len(run.addresses)]
        for (number, place), end in zip(places, ends, strict=False):
            stretches.append((number, vcpu, run.addresses[place:end]))
    stretches.sort(key=lambda stretch: stretch[:2])
    return [(vcpu, address) for _, vcpu, part in stretches for address in part]


def first_difference(ours: array[int], truth: array[int]) -> str | None:
    """Return None if equal, else one line about the first place where they differ."""
    if ours == truth:
        return None
    place = next(
        (i for i, (a, b) in enumerate(zip(ours, truth, strict=False)) if a != b),
        min(len(ours), len(truth)),
    )
    around = slice(max(place - 4, 0), place + 4)
    return (
        f"{len(ours)} instructions recorded, {len(truth)} in the log; at {place}: recorded "
        f"{' '.join(map(hex, ours[around]))}, log {' '.join(map(hex, truth[around]))}"
    )


_NUMBERS: Final = {
    Event.CUT: 1,
    Event.TRAP: 3,
    Event.CONTEXT: 1,
    Event.IDLE: 1,
    Event.RESUME: 1,
    Event.MARK: 2,
    Event.RESET: 1,
    Event.GAP: 2,
    Event.TURN: 1,
    Event.SYNC: 2,
}


def _instructions_of_blocks(recording: Recording) -> list[bytes]:
    """By block id: the addresses of its instructions, as the bytes of an array."""
    table = [b""]
    for number in range(1, len(recording.blocks)):
        address = recording.blocks.address[number]
        addresses = array("Q")
        for size in recording.blocks.sizes(number):
            addresses.append(address)
            address += size
        table.append(addresses.tobytes())
    return table


def _take_chunk(run: VcpuRun, chunk: ChunkData, table: list[bytes]) -> None:
    block = 0  # the chunk's newest
    block_end = 0  # where its instructions end
    for ids, event, payload in _steps(chunk, len(table) - 1):
        if ids:
            parts = [table[number] for number in ids]
            sizes = (len(part) // 8 for part in parts)
            run.starts.extend([*accumulate(sizes, initial=len(run.addresses))][:-1])
            run.addresses.frombytes(b"".join(parts))
            block, block_end = ids[-1], len(run.addresses)
            run.last_block = len(table[block]) // 8
        if event is None:
            continue
        if event != Event.CUT:
            run.events.append(At(len(run.addresses), event, payload))
            continue
        _cut(run, len(table[block]) // 8, unpack_leb(payload, 0)[0], block_end)
    if chunk.cut:
        _cut(run, len(table[block]) // 8, chunk.cut, block_end)


def _cut(run: VcpuRun, n_insns: int, begun: int, block_end: int) -> None:
    """The block that ends at `block_end`, the newest, was left after `begun` instructions."""
    assert 0 < begun < n_insns, "CUT without a block that it fits"
    assert block_end == len(run.addresses), "two CUTs of one block"
    del run.addresses[block_end - n_insns + begun :]
    run.last_block = begun
    place = len(run.addresses)
    for index in range(len(run.events) - 1, -1, -1):
        at = run.events[index]
        if at.place <= place:
            break
        run.events[index] = At(place, at.event, at.payload)


def _steps(chunk: ChunkData, max_block: int) -> Iterator[tuple[list[int], Event | None, bytes]]:
    """Yield the blocks up to the next event, and that event (None: the chunk goes on or ends)."""
    lib = library()
    decoder = lib.gx_decoder_new(max_block)
    items = (Item * _ITEMS)()
    words = memoryview(items).cast("B").cast("I")
    try:
        while count := lib.gx_decoder_items(
            decoder, chunk.raw, len(chunk.raw), chunk.run, items, _ITEMS
        ):
            assert count > 0, lib.gx_decoder_error(decoder)
            ids = words[: count * 4].tolist()[::4]
            start = 0
            for _ in range(ids.count(0)):
                place = ids.index(0, start)
                yield ids[start:place], Event(items[place].event), _payload(chunk, items[place])
                start = place + 1
            yield ids[start:], None, b""
    finally:
        words.release()
        lib.gx_decoder_free(decoder)


def _payload(chunk: ChunkData, item: ctypes.Structure) -> bytes:
    length, start = unpack_leb(chunk.raw, item.offset)
    return chunk.raw[start : start + length]
