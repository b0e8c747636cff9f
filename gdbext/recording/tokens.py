# SPDX-License-Identifier: GPL-2.0-or-later
"""Tokens of a chunk written, and their decoding by the C library.

The predictor is in the C library only (docs/trace-format.md, "Tokens"); what is written here names
every block by its id, or repeats bytes that the recorder wrote.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gdbext.errors import TraceFormatError
from gdbext.nativelib import Item, library
from gdbext.recording.format import RUN_LEB, TokenKind, pack_leb, unpack_leb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gdbext.recording.blocks import BlockTable

ITEMS_PER_CALL = 4096


@dataclass(frozen=True, slots=True)
class BlockStep:
    """A block was executed."""

    block: int


@dataclass(frozen=True, slots=True)
class EventStep:
    """An event stands here; `payload` as docs/trace-format.md, "Events" says."""

    event: int
    payload: bytes


def pack_token(kind: TokenKind, run: int = 0) -> bytes:
    """First byte of a token and, for a long run, the rest of the run."""
    if run < RUN_LEB:
        return bytes((run << 2 | kind,))
    return bytes((RUN_LEB << 2 | kind,)) + pack_leb(run - RUN_LEB)


def pack_new(block: int, run: int = 0) -> bytes:
    """Token NEW: block `block` was executed."""
    return pack_token(TokenKind.NEW, run) + pack_leb(block)


def pack_event(event: int, payload: bytes, run: int = 0) -> bytes:
    """Token EVENT with its payload."""
    head = pack_token(TokenKind.EVENT, run)
    return head + bytes((event,)) + pack_leb(len(payload)) + payload


def pack_end(run: int = 0) -> bytes:
    """Token END."""
    return pack_token(TokenKind.END, run)


def steps(raw: bytes, run: int, max_block: int, where: str) -> Iterator[BlockStep | EventStep]:
    """Yield what a chunk says, oldest first.

    Args:
        raw: the chunk's tokens, with or without END.
        run: blocks that were executed as predicted after the last token (no END only).
        max_block: the greatest block id there is.
        where: for messages, for example "run.rec: vCPU 0 chunk 3".

    Raises:
        TraceFormatError: the tokens are damaged.
    """
    lib = library()
    decoder = _new_decoder(max_block)
    try:
        items = (Item * ITEMS_PER_CALL)()
        while True:
            count = int(lib.gx_decoder_items(decoder, raw, len(raw), run, items, ITEMS_PER_CALL))
            if count == 0:
                return
            if count < 0:
                raise _damaged(decoder, where)
            for item in items[:count]:
                if item.block:
                    yield BlockStep(item.block)
                else:
                    yield EventStep(item.event, _payload(raw, item.offset))
    finally:
        lib.gx_decoder_free(decoder)


def totals(raw: bytes, run: int, blocks: BlockTable, where: str) -> tuple[int, int]:
    """Instructions and blocks that a chunk executed; a block that was cut counts as far as begun.

    Args: as `steps`.

    Raises:
        TraceFormatError: the tokens are damaged.
    """
    lib = library()
    decoder = _new_decoder(blocks.count)
    instructions, executed = ctypes.c_uint64(), ctypes.c_uint64()
    n_insns, _ = blocks.n_insns.buffer_info()
    try:
        status = lib.gx_decoder_totals(
            decoder,
            raw,
            len(raw),
            run,
            n_insns,
            ctypes.byref(instructions),
            ctypes.byref(executed),
        )
        if status < 0:
            raise _damaged(decoder, where)
    finally:
        lib.gx_decoder_free(decoder)
    return instructions.value, executed.value


def _new_decoder(max_block: int) -> int:
    decoder = library().gx_decoder_new(max_block)
    if not decoder:
        raise MemoryError
    return int(decoder)


def _damaged(decoder: int, where: str) -> TraceFormatError:
    lib = library()
    reason = (lib.gx_decoder_error(decoder) or b"damaged").decode()
    offset = int(lib.gx_decoder_error_offset(decoder))
    return TraceFormatError(f"{where}: offset {offset:#x} of the tokens: {reason}")


def _payload(raw: bytes, offset: int) -> bytes:
    """The payload whose length stands at `offset`; the decoder has checked that it fits."""
    length, start = unpack_leb(raw, offset)
    return raw[start : start + length]
