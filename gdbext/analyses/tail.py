# SPDX-License-Identifier: GPL-2.0-or-later
"""What was executed last."""

from __future__ import annotations

import ctypes
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gdbext.errors import TraceFormatError
from gdbext.nativelib import Item
from gdbext.recording.format import Event, unpack_leb
from gdbext.replay.disassembly import disassemble
from gdbext.replay.library import replay_library

if TYPE_CHECKING:
    from gdbext.recording.reader import ChunkData, Recording
    from gdbext.replay.classify import Classifier
    from gdbext.symbols import Symbols

__all__ = ["TailInsn", "last_insns"]


@dataclass(frozen=True)
class TailInsn:
    """One executed instruction; `function`, `file` and `line` are None where unknown."""

    address: int
    function: str | None
    file: str | None
    line: int | None
    text: str
    vcpu: int

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


def last_insns(
    recording: Recording, classes: Classifier, symbols: Symbols, n: int
) -> list[TailInsn]:
    """The last `n` instructions of each vCPU, newest first.

    Raises:
        TraceFormatError: the end of the recording is damaged.
    """
    target = str(recording.meta["target"])
    result: list[TailInsn] = []
    for vcpu, steps in _last_steps(recording, n).items():
        for block, index in reversed(steps[-n:]):
            sizes = recording.blocks.sizes(block)
            start = sum(sizes[:index])
            address = recording.blocks.address[block] + start
            code = recording.blocks.code(block)[start : start + sizes[index]]
            function = symbols.function_at(address)
            where = symbols.line_at(address)
            result.append(
                TailInsn(
                    address=address,
                    function=function.name if function else None,
                    file=where.file if where else None,
                    line=where.line if where else None,
                    text=disassemble(target, classes.mode[block], address, code),
                    vcpu=vcpu,
                )
            )
    return result


def _last_steps(recording: Recording, n: int) -> dict[int, list[tuple[int, int]]]:
    """By vCPU: at least `n` last steps (block id, index of the instruction in it), oldest first."""
    chunks: dict[int, list[ChunkData]] = {}
    needed: dict[int, int] = {}
    for data in recording.newest():
        if needed.get(data.vcpu, n) <= 0:
            continue
        steps = _insns(recording, data, n)
        needed[data.vcpu] = needed.get(data.vcpu, n) - len(steps)
        chunks.setdefault(data.vcpu, []).append(data)
    result: dict[int, list[tuple[int, int]]] = {}
    for vcpu, parts in sorted(chunks.items()):
        result[vcpu] = [step for data in reversed(parts) for step in _insns(recording, data, n)]
    return result


def _insns(recording: Recording, data: ChunkData, n: int) -> list[tuple[int, int]]:
    """The last instructions of one chunk, `n` or a few more."""
    blocks = recording.blocks
    steps: list[tuple[int, int]] = []
    last: tuple[int, int] | None = None  # block and instructions of it that count
    for item in _items(recording, data, n):
        if item.block:
            if last is not None:
                steps += _begun(recording, last, blocks.address[item.block])
            last = (item.block, blocks.n_insns[item.block])
        elif item.event == Event.CUT and last is not None:
            _, start = unpack_leb(data.raw, item.offset)
            last = (last[0], unpack_leb(data.raw, start)[0])
    if last is not None:
        begun = data.cut or last[1]
        steps += [(last[0], index) for index in range(begun)]
    return steps


def _begun(recording: Recording, last: tuple[int, int], following: int) -> list[tuple[int, int]]:
    """Instructions of a block that count; one that QEMU begins again counts there."""
    block, begun = last
    address = recording.blocks.address[block] + sum(recording.blocks.sizes(block)[: begun - 1])
    if following == address and begun < recording.blocks.n_insns[block]:
        begun -= 1
    return [(block, index) for index in range(begun)]


def _items(recording: Recording, data: ChunkData, n: int) -> list[Any]:
    """The last steps of a chunk: twice as many as asked, since events are among them."""
    lib = replay_library()
    size = 2 * n + 16
    ring = (Item * size)()
    first = ctypes.c_uint64()
    decoder = lib.gx_decoder_new(recording.blocks.count)
    if not decoder:
        raise MemoryError
    try:
        count = lib.gx_decoder_tail(
            decoder, data.raw, len(data.raw), data.run, ring, size, ctypes.byref(first)
        )
        if count < 0:
            reason = (lib.gx_decoder_error(decoder) or b"damaged").decode()
            raise TraceFormatError(f"{recording.path}: vCPU {data.vcpu} chunk {data.seq}: {reason}")
    finally:
        lib.gx_decoder_free(decoder)
    return [ring[(first.value + i) % size] for i in range(count)]
