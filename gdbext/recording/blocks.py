# SPDX-License-Identifier: GPL-2.0-or-later
"""The block table: address, instruction sizes and bytes of each distinct block."""

from __future__ import annotations

import ctypes
from array import array
from dataclasses import dataclass

from gdbext.errors import TraceFormatError
from gdbext.nativelib import library
from gdbext.recording.format import BLOCK_ENTRY


@dataclass(frozen=True, slots=True)
class Block:
    """One distinct block; it covers [address, address + len(code))."""

    id: int
    address: int
    sizes: bytes
    code: bytes


class BlockTable:
    """Arrays indexed by block id, 1 to `count`; index 0 is a filler of zeros.

    Attributes:
        address: guest virtual address of the first instruction, array of u64.
        n_insns: number of instructions, array of u16.
        n_bytes: length in bytes, array of u16.
        offset: where the block's entry begins in `raw`, array of u64.
        raw: the block entries as recorded, one after the other (docs/trace-format.md, "BLOCKS").

    The table grows when a live recording is refreshed; while a memoryview or ctypes view of an
    array is held, it cannot grow (BufferError), so take views for one query only.
    """

    def __init__(self) -> None:
        self.address = array("Q", (0,))
        self.n_insns = array("H", (0,))
        self.n_bytes = array("H", (0,))
        self.offset = array("Q", (0,))
        self.raw = bytearray()

    def __len__(self) -> int:
        return len(self.address)

    @property
    def count(self) -> int:
        """Number of blocks, and the greatest id."""
        return len(self.address) - 1

    def sizes(self, block: int) -> bytes:
        """Size of each instruction of the block, in bytes."""
        start = self.offset[block] + BLOCK_ENTRY.size
        return bytes(self.raw[start : start + self.n_insns[block]])

    def code(self, block: int) -> bytes:
        """The block's instruction bytes, in memory order."""
        start = self.offset[block] + BLOCK_ENTRY.size + self.n_insns[block]
        return bytes(self.raw[start : start + self.n_bytes[block]])

    def block(self, block: int) -> Block:
        """All about one block."""
        return Block(block, self.address[block], self.sizes(block), self.code(block))

    def entries(self, first: int, end: int) -> bytes:
        """The entries of the blocks first to end - 1, as recorded."""
        stop = self.offset[end] if end < len(self) else len(self.raw)
        return bytes(self.raw[self.offset[first] : stop]) if first < end else b""

    def append(self, entries: bytes, where: str, count: int | None = None) -> None:
        """Add block entries.

        Args:
            entries: entries one after the other, nothing else.
            where: for messages, for example "run.rec: offset 0x40".
            count: how many there must be; None takes any number.

        Raises:
            TraceFormatError: an entry is out of range or does not fit.
        """
        capacity = len(entries) // (BLOCK_ENTRY.size + 2)
        if count is not None:
            capacity = min(capacity, count)
        address = (ctypes.c_uint64 * capacity)()
        n_insns = (ctypes.c_uint16 * capacity)()
        n_bytes = (ctypes.c_uint16 * capacity)()
        offset = (ctypes.c_uint64 * capacity)()
        found = int(
            library().gx_blocks_parse(
                entries, len(entries), capacity, address, n_insns, n_bytes, offset
            )
        )
        if found < 0:
            raise TraceFormatError(f"{where}: a block entry is damaged")
        if count is not None and found != count:
            raise TraceFormatError(f"{where}: {count} block entries announced, {found} found")
        parsed = 0
        if found:
            last = offset[found - 1]
            parsed = last + BLOCK_ENTRY.size + n_insns[found - 1] + n_bytes[found - 1]
        if parsed != len(entries):
            raise TraceFormatError(f"{where}: {len(entries) - parsed} bytes after the last block")
        base = len(self.raw)
        self.raw += entries
        self.address.frombytes(bytes(memoryview(address)[:found]))
        self.n_insns.frombytes(bytes(memoryview(n_insns)[:found]))
        self.n_bytes.frombytes(bytes(memoryview(n_bytes)[:found]))
        self.offset.extend(value + base for value in offset[:found])


def pack_block(address: int, sizes: bytes, code: bytes) -> bytes:
    """One block entry.

    Args:
        sizes: size of each instruction in bytes.
        code: the instruction bytes, sum(sizes) of them.
    """
    return BLOCK_ENTRY.pack(address, len(sizes), len(code)) + sizes + code
