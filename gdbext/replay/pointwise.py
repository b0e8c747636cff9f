# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of a replay about one address or in sum, without reading its tables.

For questions that are asked at every stop of the guest: their cost does not grow with the program.
"""

from __future__ import annotations

import ctypes
from array import array
from typing import TYPE_CHECKING, Any

from gdbext.replay.library import CCut, CEdge, CTrap
from gdbext.replay.tables import Cut, Edge

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Pointwise", "address_of"]

_FIRST_ROOM = 64


class Pointwise:
    """Asks the C library; valid until the replay goes on."""

    def __init__(
        self, lib: ctypes.CDLL, handle: int, n_blocks: int, vcpus: tuple[int, ...]
    ) -> None:
        """Use `Replay.pointwise`."""
        self._lib = lib
        self._handle = handle
        self._n_blocks = n_blocks
        self._vcpus = vcpus

    def totals(self) -> dict[int, tuple[int, int]]:
        """Instructions and blocks begun, by vCPU."""
        insns, blocks = ctypes.c_uint64(), ctypes.c_uint64()
        result = {}
        for vcpu in self._vcpus:
            self._lib.gx_replay_totals(
                self._handle, vcpu, ctypes.byref(insns), ctypes.byref(blocks)
            )
            result[vcpu] = (insns.value, blocks.value)
        return result

    def edges_to(self, address: int) -> list[Edge]:
        """Edges to the blocks that begin at `address` (guest virtual)."""
        rows = _rows(self._lib.gx_replay_edges_to, self._handle, address, CEdge)
        return [Edge(row.from_, row.to, row.count, row.recovered) for row in rows]

    def traps_to(self, address: int) -> dict[int, int]:
        """Trap entries into the blocks that begin at `address`, by block id."""
        result: dict[int, int] = {}
        for row in _rows(self._lib.gx_replay_traps_to, self._handle, address, CTrap):
            result[row.to] = result.get(row.to, 0) + row.count
        return result

    def handler_runs(self, address: int) -> int:
        """Times that the handler at `address` was entered."""
        return int(self._lib.gx_replay_handler_runs(self._handle, address))

    def executions(self) -> array[int]:
        """How often each block was begun, by id (array of u64)."""
        result = array("Q", bytes(8 * self._n_blocks))
        self._lib.gx_replay_executions(self._handle, address_of(result), self._n_blocks)
        return result

    def arrivals(self) -> tuple[array[int], array[int]]:
        """`other_arrivals` and `continued` of Tables."""
        other, continued = (array("Q", bytes(8 * self._n_blocks)) for _ in range(2))
        self._lib.gx_replay_arrivals(
            self._handle, address_of(other), address_of(continued), self._n_blocks
        )
        return other, continued

    def cuts(self) -> list[Cut]:
        """Blocks left in the middle."""
        n = int(self._lib.gx_replay_cuts(self._handle, None, 0))
        out = (CCut * max(n, 1))()
        self._lib.gx_replay_cuts(self._handle, out, n)
        return [Cut(c.block, c.begun, c.count) for c in out[:n]]


def address_of(numbers: array[int]) -> int:
    """Where the array's elements are; it must not grow while C writes into it."""
    return numbers.buffer_info()[0]


def _rows(function: Callable[..., int], handle: int, address: int, kind: Any) -> list[Any]:
    """What a function of the C library says of one address."""
    room = _FIRST_ROOM
    while True:
        out = (kind * room)()
        n = int(function(handle, address, out, room))
        if n <= room:
            return list(out[:n])
        room = n
