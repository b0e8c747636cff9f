# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording as text: one record a line, KIND key=value (the `dump` command)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gdbext.errors import TraceFormatError
from gdbext.recording.format import (
    BLOCKS_HEADER,
    GAP_FILTERED,
    GAP_REASONS,
    MARK_KINDS,
    RECORD_HEADER_SIZE,
    TRAP_KINDS,
    Event,
    Probe,
    RecordType,
    Register,
    unpack_leb,
)
from gdbext.recording.tokens import BlockStep, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gdbext.recording.reader import ChunkData, Recording
    from gdbext.recording.stream import ChunkInfo, Record


def dump_lines(
    recording: Recording, *, blocks: bool = False, events: bool = False, insns: bool = False
) -> Iterator[str]:
    """Yield the recording's records as lines, in file order, without newlines.

    Args:
        blocks: also each block of the block table, and each block executed.
        events: also the events, at their places between the blocks.
        insns: also each instruction begun; an instruction that QEMU itself began again (see
            docs/trace-format.md, last lines of "Events") is listed each time.

    Raises:
        TraceFormatError: a chunk's data is damaged; the lines before it are good.
    """
    stream = recording.stream
    yield f"FILE version=1 generation={recording.generation} live={int(recording.live)}"
    chunks = {chunk.record.offset: chunk for chunk in recording.chunks}
    first_id = 1
    for record in stream.records:
        if record.type == RecordType.META:
            yield f"META offset={record.offset:#x} {_meta(stream.payload(record))}"
        elif record.type == RecordType.BLOCKS:
            count = BLOCKS_HEADER.unpack_from(stream.payload(record))[1]
            raw_length = BLOCKS_HEADER.unpack_from(stream.payload(record))[2]
            yield (
                f"BLOCKS offset={record.offset:#x} first_id={first_id} count={count} "
                f"raw_length={raw_length}"
            )
            if blocks:
                yield from _block_lines(recording, first_id, first_id + count)
            first_id += count
        elif record.type == RecordType.CHUNK:
            chunk = chunks[record.offset]
            yield _chunk_line(record, chunk)
            if blocks or events or insns:
                raw = recording.raw_chunk(chunk)
                yield from _step_lines(
                    recording, chunk.vcpu, chunk.seq, raw, 0, blocks, events, insns
                )
        elif record.type == RecordType.END:
            for vcpu, totals in enumerate(recording.end or ()):
                yield (
                    f"END offset={record.offset:#x} vcpu={vcpu} "
                    f"instructions={totals.instructions} blocks={totals.blocks}"
                )
        else:
            yield f"SKIPPED offset={record.offset:#x} type={record.type} length={record.length}"
    if blocks:
        yield from _block_lines(recording, first_id, len(recording.blocks))
    for partial in recording.partial:
        yield _partial_line(partial)
        if blocks or events or insns:
            yield from _step_lines(
                recording,
                partial.vcpu,
                partial.seq,
                partial.raw,
                partial.run,
                blocks,
                events,
                insns,
                partial.cut,
            )
    if recording.cut is not None:
        yield f"CUT message={json.dumps(recording.cut)}"


def event_text(event: int, payload: bytes) -> str:
    """An event's name and fields as `NAME key=value ...`.

    Raises:
        ValueError: its payload is shorter than its fields.
    """
    name = Event(event).name
    return f"{name} {_EVENT_FIELDS[Event(event)](payload)}".rstrip()


def _meta(payload: bytes) -> str:
    keys = json.loads(payload)
    return " ".join(f"{key}={json.dumps(keys[key])}" for key in sorted(keys))


def _chunk_line(record: Record, chunk: ChunkInfo) -> str:
    return (
        f"CHUNK offset={record.offset:#x} vcpu={chunk.vcpu} seq={chunk.seq} "
        f"first_insn={chunk.first_insn} n_insns={chunk.n_insns} n_blocks={chunk.n_blocks} "
        f"time_ns={chunk.time_ns} raw_length={chunk.raw_length} "
        f"length={RECORD_HEADER_SIZE + record.length}"
    )


def _partial_line(chunk: ChunkData) -> str:
    return (
        f"PARTIAL vcpu={chunk.vcpu} seq={chunk.seq} time_ns={chunk.time_ns} "
        f"raw_length={len(chunk.raw)} run={chunk.run} cut={chunk.cut}"
    )


def _block_lines(recording: Recording, first: int, end: int) -> Iterator[str]:
    for number in range(first, end):
        block = recording.blocks.block(number)
        sizes = ",".join(str(size) for size in block.sizes)
        yield f"BLOCK id={number} address={block.address:#x} sizes={sizes} code={block.code.hex()}"


def _step_lines(
    recording: Recording,
    vcpu: int,
    seq: int,
    raw: bytes,
    run: int,
    blocks: bool,
    events: bool,
    insns: bool,
    cut: int = 0,
) -> Iterator[str]:
    """Lines of what a chunk says; a block's instructions come when it is known how far it got.

    Until then the events after it wait too: one of them may be its CUT.
    """
    where = f"{recording.path.name}: vCPU {vcpu} chunk {seq}"
    waiting: int | None = None
    begun: int | None = None
    held: list[str] = []

    def settled(begun: int | None) -> Iterator[str]:
        if waiting is not None and insns:
            yield from _insn_lines(recording, vcpu, waiting, begun)
        yield from held
        held.clear()

    for step in steps(raw, run, recording.blocks.count, where):
        if isinstance(step, BlockStep):
            yield from settled(begun)
            if blocks:
                address = recording.blocks.address[step.block]
                yield f"EXEC vcpu={vcpu} block={step.block} address={address:#x}"
            waiting, begun = step.block, None
            continue
        try:
            text = event_text(step.event, step.payload)
            if step.event == Event.CUT:
                begun = unpack_leb(step.payload, 0)[0]
        except ValueError as error:
            raise TraceFormatError(f"{where}: event {step.event}: {error}") from error
        if events:
            held.append(f"EVENT vcpu={vcpu} {text}")
    yield from settled(begun or cut or None)


def _insn_lines(recording: Recording, vcpu: int, number: int, begun: int | None) -> Iterator[str]:
    block = recording.blocks.block(number)
    place = 0
    for size in block.sizes[:begun]:
        code = block.code[place : place + size].hex()
        yield f"INSN vcpu={vcpu} address={block.address + place:#x} code={code}"
        place += size


def _fields(*names: str) -> Callable[[bytes], str]:
    """A function that prints leb fields; names with `=0x` are addresses."""

    def text(payload: bytes) -> str:
        place = 0
        parts = []
        for name in names:
            value, place = unpack_leb(payload, place)
            parts.append(f"{name}{value:#x}" if name.endswith("=") else f"{name}={value}")
        return " ".join(parts)

    return text


def _named(value: int, names: dict[int, str]) -> str:
    return names.get(value, str(value))


def _trap(payload: bytes) -> str:
    kind, place = unpack_leb(payload, 0)
    return f"kind={_named(kind, TRAP_KINDS)} {_fields('from=', 'to=')(payload[place:])}"


def _context(payload: bytes) -> str:
    count, place = unpack_leb(payload, 0)
    parts = []
    for _ in range(count):
        register, place = unpack_leb(payload, place)
        value, place = unpack_leb(payload, place)
        parts.append(_register(register, value))
    return " ".join(parts)


_REGISTERS = {register.value: register.name.lower() for register in Register}


def _register(number: int, value: int) -> str:
    if number == Register.PROBE:
        names = [why.name.lower() for why in Probe if why & value and why.name]
        return f"probe={'+'.join(names) or value}"
    return f"{_REGISTERS.get(number, f'r{number}')}={value:#x}"


def _mark(payload: bytes) -> str:
    kind, place = unpack_leb(payload, 0)
    time_ns, place = unpack_leb(payload, place)
    text = json.dumps(payload[place:].decode(errors="replace"))
    return f"kind={_named(kind, MARK_KINDS)} time_ns={time_ns} text={text}"


def _gap(payload: bytes) -> str:
    reason, place = unpack_leb(payload, 0)
    n_blocks, place = unpack_leb(payload, place)
    if reason == GAP_FILTERED:
        n_insns, place = unpack_leb(payload, place)
        return f"reason=filtered n_blocks={n_blocks} n_insns={n_insns}"
    count = n_blocks or "unknown"
    return f"reason={_named(reason, GAP_REASONS)} n_blocks={count}"


_EVENT_FIELDS: dict[Event, Callable[[bytes], str]] = {
    Event.CUT: _fields("begun"),
    Event.TRAP: _trap,
    Event.CONTEXT: _context,
    Event.IDLE: _fields("time_ns"),
    Event.RESUME: _fields("time_ns"),
    Event.MARK: _mark,
    Event.RESET: _fields("time_ns"),
    Event.GAP: _gap,
    Event.TURN: _fields("number"),
    Event.SYNC: _fields("epoch", "time_ns"),
}
