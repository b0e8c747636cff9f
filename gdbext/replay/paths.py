# SPDX-License-Identifier: GPL-2.0-or-later
"""Which way evaluations of decisions went, in a replay of its own.

Twin: qemu-plugin/paths.h.
"""

from __future__ import annotations

import ctypes
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gdbext.errors import NativeError
from gdbext.replay.counts import last_insn
from gdbext.replay.library import CPathBranch, CPathNode
from gdbext.replay.replay import SecondReplay

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["PathCounts", "PathReplay", "PathTree"]


@dataclass
class PathTree:
    """The ways through decisions, as trees of branch outcomes; branches and nodes count from 1."""

    branches: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Address, where it goes when taken, where else, and the root that it begins; 0: none."""
    nodes: list[tuple[int, int, int]] = field(default_factory=list)
    """Branch (0: the way is complete), and the later nodes when it is taken, and when not."""


@dataclass(frozen=True)
class PathCounts:
    """By node and by branch; item 0 is unused."""

    counts: list[int]
    """Times that a way was gone; of roots, times that evaluation began."""
    lost: list[int]
    """Executions of a branch in no evaluation that was seen to begin."""


class PathReplay(SecondReplay):
    """Replays what `parent` has replayed up to now, and follows evaluations of decisions."""

    def run(
        self,
        tree: PathTree,
        changed: Collection[int],
        progress: Callable[[float], None] | None = None,
    ) -> PathCounts:
        """Replay everything.

        Args:
            changed: ids of blocks whose bytes are not the ELF file's; they are not followed.

        Raises:
            TraceFormatError: the recording is damaged.
            NativeError: no memory.
        """
        handle = self._open()
        self._add_blocks(handle)
        number = {branch[0]: n for n, branch in enumerate(tree.branches, 1)}
        blocks = self.recording.blocks
        ends = array("I", bytes(4 * len(blocks)))
        for block in range(1, len(blocks)):
            if block not in changed:
                ends[block] = number.get(last_insn(blocks, block), 0)
        branches = (CPathBranch * (len(tree.branches) + 1))()
        for n, (_, target, fall, root) in enumerate(tree.branches, 1):
            branches[n] = CPathBranch(target, fall, root, 0)
        nodes = (CPathNode * (len(tree.nodes) + 1))()
        for n, node in enumerate(tree.nodes, 1):
            nodes[n] = CPathNode(*node)
        if self._lib.gx_replay_follow_paths(
            handle,
            ctypes.c_void_p(ends.buffer_info()[0]),
            len(ends),
            branches,
            len(branches),
            nodes,
            len(nodes),
        ):
            raise NativeError("no memory for the ways through decisions")
        self._replay_new(progress)
        counts = (ctypes.c_uint64 * len(nodes))()
        self._lib.gx_replay_path_counts(handle, counts, len(nodes))
        lost = (ctypes.c_uint64 * len(branches))()
        self._lib.gx_replay_path_losses(handle, lost, len(branches))
        return PathCounts(list(counts), list(lost))
