# SPDX-License-Identifier: GPL-2.0-or-later
"""What was executed last, instruction by instruction; rounds of a long loop are one step."""

from __future__ import annotations

import ctypes
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gdbext.analyses.places import Place, place_json
from gdbext.errors import TraceFormatError
from gdbext.nativelib import Item
from gdbext.recording.format import Event, unpack_leb
from gdbext.replay.disassembly import disassemble
from gdbext.replay.kinds import EndFlag
from gdbext.replay.library import replay_library

if TYPE_CHECKING:
    from gdbext.recording.reader import ChunkData, Recording
    from gdbext.replay.classify import Classifier
    from gdbext.symbols import Symbols

__all__ = ["TailInsn", "last_insns"]

# GX_ITEM_ROUNDS in qemu-plugin/library.h.
ROUNDS: Final = 256
ROUNDS_SHIFT: Final = 20


@dataclass(frozen=True)
class TailInsn:
    """One executed instruction; what is not known is None.

    `times` above 1: from this instruction on, the last `round_insns` ones ran so often in turn.
    """

    address: int
    function: str | None
    file: str | None
    line: int | None
    text: str
    vcpu: int
    place: Place | None = None
    times: int = 1
    round_insns: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields by name, those of `place` among them."""
        own = asdict(self)
        return {**own, **place_json(own.pop("place"))}


class _Step(NamedTuple):
    """An instruction of a block, and the rounds that begin with it and are not listed."""

    block: int
    number: int
    rounds: int = 0
    round_insns: int = 0


def last_insns(
    recording: Recording, classes: Classifier, symbols: Symbols, n: int
) -> dict[int, list[tuple[int, TailInsn]]]:
    """The last `n` instructions of each vCPU, newest first, each with the number of instructions
    that ran after it.

    Raises:
        TraceFormatError: the end of the recording is damaged.
    """
    target = str(recording.meta["target"])
    result: dict[int, list[tuple[int, TailInsn]]] = {}
    known: dict[tuple[int, int], tuple[int, str | None, str | None, int | None, str]] = {}

    def described(block: int, number: int) -> tuple[int, str | None, str | None, int | None, str]:
        """Address, function, file, line, text."""
        sizes = recording.blocks.sizes(block)
        start = sum(sizes[:number])
        address = recording.blocks.address[block] + start
        code = recording.blocks.code(block)[start : start + sizes[number]]
        function = symbols.function_at(address)
        where = symbols.line_at(address)
        return (
            address,
            function.name if function else None,
            where.file if where else None,
            where.line if where else None,
            disassemble(target, classes.mode[block], address, code),
        )

    for vcpu, steps in _last_steps(recording, classes, n).items():
        result[vcpu] = []
        after = 0
        for block, number, rounds, round_insns in reversed(steps[-n:]):
            insn = known.get((block, number))
            if insn is None:
                insn = known[block, number] = described(block, number)
            times = 1 + rounds
            result[vcpu].append((after, TailInsn(*insn, vcpu, None, times, round_insns or None)))
            after += 1 + rounds * round_insns
    return result


def _last_steps(recording: Recording, classes: Classifier, n: int) -> dict[int, list[_Step]]:
    """By vCPU: at least `n` last steps, oldest first."""
    found: dict[int, list[list[_Step]]] = {}
    needed: dict[int, int] = {}
    for data in recording.newest():
        if needed.get(data.vcpu, n) <= 0:
            continue
        steps = _insns(recording, classes, data, n)
        needed[data.vcpu] = needed.get(data.vcpu, n) - len(steps)
        found.setdefault(data.vcpu, []).append(steps)
    return {
        vcpu: [step for steps in reversed(parts) for step in steps]
        for vcpu, parts in sorted(found.items())
    }


def _insns(recording: Recording, classes: Classifier, data: ChunkData, n: int) -> list[_Step]:
    """The last instructions of one chunk, `n` or a few more."""
    blocks = recording.blocks
    steps: list[_Step] = []
    last: tuple[int, int] | None = None  # block and instructions of it that count
    rounds = round_insns = 0  # that begin with `last`
    waiting: tuple[int, int] | None = None  # rounds that begin with the next block

    def settle(begun: int) -> None:
        assert last is not None
        steps.extend(
            _Step(last[0], index, 0 if index else rounds, 0 if index else round_insns)
            for index in range(begun)
        )

    items = _joined(_items(recording, data, n))
    for number, item in enumerate(items):
        if item.block:
            if last is not None:
                settle(_begun(recording, classes, last, blocks.address[item.block]))
            last = (item.block, blocks.n_insns[item.block])
            rounds, round_insns = waiting or (0, 0)
            waiting = None
        elif item.event == ROUNDS:
            period = item.offset % (1 << ROUNDS_SHIFT)
            looped = items[number + 1 : number + 1 + period]
            insns = sum(blocks.n_insns[each.block] for each in looped)
            waiting = (item.offset >> ROUNDS_SHIFT, insns)
        elif item.event == Event.CUT and last is not None:
            _, start = unpack_leb(data.raw, item.offset)
            last = (last[0], unpack_leb(data.raw, start)[0])
    if last is not None:
        settle(data.cut or last[1])
    return steps


class _Item(NamedTuple):
    """As nativelib.Item."""

    block: int
    event: int
    offset: int


def _joined(items: list[_Item]) -> list[_Item]:
    """Rounds that stand before the rounds of the same loop are counted there."""
    result: list[_Item] = []
    for number, item in enumerate(items):
        if item.block or item.event != ROUNDS:
            if item.block or item.event == Event.CUT:
                result.append(item)
            continue
        period = item.offset % (1 << ROUNDS_SHIFT)
        rounds = item.offset >> ROUNDS_SHIFT
        one = items[number + 1 : number + 1 + period]
        while len(one) == period and result[-period:] == one:
            del result[-period:]
            rounds += 1
            if result and not result[-1].block and result[-1].event == ROUNDS:
                rounds += result.pop().offset >> ROUNDS_SHIFT
        result.append(_Item(0, ROUNDS, rounds << ROUNDS_SHIFT | period))
    return result


def _begun(recording: Recording, classes: Classifier, last: tuple[int, int], following: int) -> int:
    """Instructions of a block that count; one that QEMU begins again counts there."""
    block, begun = last
    blocks = recording.blocks
    n_insns = blocks.n_insns[block]
    flags = classes.flags[block]
    again = following == blocks.address[block] + sum(blocks.sizes(block)[: begun - 1])
    if begun == n_insns:  # else it was left in the middle
        again = again and bool(flags & EndFlag.MEMORY) and not flags & EndFlag.REPEAT
    return begun - again


def _items(recording: Recording, data: ChunkData, n: int) -> list[_Item]:
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
    items = [ring[(first.value + i) % size] for i in range(count)]
    return [_Item(item.block, item.event, item.offset) for item in items]
