# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that the compiler inlined: which instructions are theirs, by numbers.

Their code is part of a block of another function, so the engine is told for each block which
inlined function calls (the block's last instruction), and it counts executions by node; what each
inlined function executed is worked out from that (analyses/inlined.py).
"""

from __future__ import annotations

import ctypes
from array import array
from typing import TYPE_CHECKING, NamedTuple

from gdbext.replay.library import CNodeBlock
from gdbext.replay.replay import SecondReplay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gdbext.recording.blocks import BlockTable
    from gdbext.replay.functions import FunctionNumbers
    from gdbext.replay.replay import Replay
    from gdbext.symbols import Symbols

__all__ = ["InlineChains", "InlineReplay", "NodeBlock"]


class NodeBlock(NamedTuple):
    """Block `block` ran `n` times in a node of the tree, its last `lost` instructions not.

    A cut execution is there twice: with `lost` 0, and with what it lost.
    """

    node: int
    block: int
    lost: int
    n: int


class InlineChains:
    """Chains of inlined functions, outermost first; chain 0 is empty: nothing is inlined.

    A chain's number, as the engine's functions are numbered, is `first + chain`.
    """

    def __init__(self, symbols: Symbols, numbers: FunctionNumbers) -> None:
        """No address was asked about yet."""
        self._symbols = symbols
        self.first = len(numbers)
        self.chains: list[tuple[str, ...]] = [()]
        self._known: dict[tuple[str, ...], int] = {(): 0}
        self._at: dict[int, int] = {}

    def at(self, address: int) -> int:
        """The chain that the instruction at `address` is part of."""
        found = self._at.get(address)
        if found is None:
            frames = self._symbols.inlined_at(address)
            names = tuple(frame.function for frame in reversed(frames[:-1]))
            found = self._at[address] = self._known.setdefault(names, len(self.chains))
            if found == len(self.chains):
                self.chains.append(names)
        return found

    def of_insns(self, blocks: BlockTable, block: int) -> list[int]:
        """The chain of each of a block's instructions."""
        result, address = [], blocks.address[block]
        for size in blocks.sizes(block):
            result.append(self.at(address))
            address += size
        return result

    def sites(self, blocks: BlockTable) -> array[int]:
        """By block id: the number of the chain of its last instruction; 0: none."""
        result = array("I", (0,))
        for block in range(1, len(blocks)):
            size = blocks.sizes(block)[-1]
            chain = self.at(blocks.address[block] + blocks.n_bytes[block] - size)
            result.append(self.first + chain if chain else 0)
        return result


class InlineReplay(SecondReplay):
    """Replays what `parent` has replayed up to now, with nodes for inlined functions that call."""

    def __init__(self, parent: Replay, chains: InlineChains) -> None:
        """Nothing is replayed yet; the parent has been brought up to date."""
        super().__init__(parent)
        self._chains = chains

    def run(self, progress: Callable[[float], None] | None = None) -> Iterator[NodeBlock]:
        """Replay; executions by node, whose numbers are those of `calls()`, before the next replay.

        Raises:
            TraceFormatError: the recording is damaged.
            NativeError: no memory.
        """
        handle = self._open()
        self._add_blocks(handle)
        sites = self._chains.sites(self.recording.blocks)
        first = sites.buffer_info()[0]
        self._lib.gx_replay_inlined(handle, 0, len(sites), ctypes.c_void_p(first))
        self._replay_new(progress)
        self._settle(handle)
        n = int(self._lib.gx_replay_node_blocks(handle, None, 0))
        out = (CNodeBlock * n)()
        self._lib.gx_replay_node_blocks(handle, out, n)
        return (NodeBlock(row.node, row.block, row.lost, row.count) for row in out)
