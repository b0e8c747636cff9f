# SPDX-License-Identifier: GPL-2.0-or-later
"""Activations of functions one by one, in a replay of its own.

Twin: qemu-plugin/slices.h. What a slice is: docs/reconstruction.md, "Slices".
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Final, NamedTuple

from gdbext.errors import NativeError
from gdbext.replay.library import CSliceTotals, CSliceWindow
from gdbext.replay.replay import SecondReplay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gdbext.replay.replay import Replay

__all__ = ["SliceFlag", "SliceKind", "SliceReplay", "SliceRow", "SliceTotals", "SliceWindow"]

BLOCKS_AT_ONCE: Final = 200_000
"""Bounds the slices that wait to be taken: a block ends few, and rarely more than one."""
SLICES_AT_ONCE: Final = 4096
END: Final = (1 << 64) - 1


class SliceKind(IntEnum):
    """How it was entered; all but RUN are kinds of nodes (NodeKind)."""

    CALL = 1
    TAIL = 2
    TASK = 3
    INTERRUPT = 4
    EXCEPTION = 5
    TRAP = 6
    RUN = 7
    """A task between two switches: no activation, its instructions are those of others."""


class SliceFlag(IntFlag):
    """What is not known of its ends."""

    OPEN_START = 1
    OPEN_END = 2
    FIRST = 4
    """Of a piece: it begins where its slice does."""


class SliceRow(NamedTuple):
    """An activation, or a piece of one. Instructions are the vCPU's, counted from 0."""

    start: int
    end: int
    self_insns: int
    inclusive_insns: int
    """With the slices inside it; what ran in handlers and other tasks is left out."""
    address: int
    """Where it was entered."""
    node: int
    function: int
    depth: int
    """In its track (task or level of handlers), 1 is the outermost that is known."""
    above: int
    """How often its track had gone on above what was the outermost before."""
    task: int
    """Index among the vCPU's tasks; 0 in a handler."""
    root_function: int
    vcpu: int
    level: int
    """0 in a task; in a handler, how deep handlers were nested."""
    kind: int
    root_kind: int
    flags: int
    reserved: int


_ROW: Final = struct.Struct("=5Q6I2H4B")


@dataclass(frozen=True)
class SliceWindow:
    """Which slices are wanted, and how.

    Attributes:
        start: instructions of each vCPU, [start, end); None: to its end.
        min_insns: shorter ones are counted only; those open at an edge are never left out.
        max_depth: deeper ones are counted only.
        longest: only so many, the longest (of pieces, the last ones), not in order of time.
        pieces: instead of slices, what ran without a break in one.
        runs: also the runs of tasks.
    """

    start: int = 0
    end: int | None = None
    min_insns: int = 0
    max_depth: int | None = None
    longest: int | None = None
    pieces: bool = False
    runs: bool = False


class SliceTotals(NamedTuple):
    """Slices seen in the window, and those of them that were left out, by reason."""

    seen: int
    shorter: int
    deeper: int
    dropped: int


class SliceReplay(SecondReplay):
    """Replays what `parent` has replayed up to now, and sees every change of the stacks."""

    def __init__(self, parent: Replay, first_chunk: int = 0, only_vcpu: int | None = None) -> None:
        """Nothing is replayed yet.

        Args:
            parent: has been brought up to date; it knows the handlers.
            first_chunk: what came before is not replayed, and not known.
            only_vcpu: the others are left out.
        """
        super().__init__(parent)
        self._first_chunk = first_chunk
        self._only_vcpu = only_vcpu

    def slices(
        self, window: SliceWindow, progress: Callable[[float], None] | None = None
    ) -> Iterator[SliceRow]:
        """Yield the slices in the order of their ends: one comes after those inside it.

        Raises:
            TraceFormatError: the recording is damaged.
            NativeError: no memory.
        """
        handle = self._open()
        self._add_blocks(handle)
        wanted = CSliceWindow(
            window.start,
            END if window.end is None else window.end,
            window.min_insns,
            window.max_depth or 0,
            window.longest or 0,
            window.pieces,
            window.runs,
        )
        if self._lib.gx_replay_observe(handle, ctypes.byref(wanted)):
            raise NativeError("no memory for slices")
        todo = len(self.recording.chunks) - self._first_chunk + len(self.recording.partial)
        left = {chunk.vcpu for chunk in self.recording.chunks}
        left |= {data.vcpu for data in self.recording.partial}
        if self._only_vcpu is not None:
            left &= {self._only_vcpu}
        for done, data in enumerate(self.recording.data(self._first_chunk)):
            if not left:
                break
            if data.vcpu not in left:
                continue
            if progress is not None:
                progress(done / todo)
            self._add_vcpu(handle, data.vcpu)
            more = True
            while more:
                more = self._feed_some(handle, data, BLOCKS_AT_ONCE)
                if window.longest is None:
                    yield from self._taken(handle)
                if window.end is not None and self._insns(handle, data.vcpu) >= window.end:
                    left.discard(data.vcpu)
                    break
        if progress is not None:
            progress(1.0)
        self._lib.gx_replay_end_slices(handle)
        yield from self._taken(handle)

    def totals(self) -> SliceTotals:
        """What was left out, after `slices`."""
        raw = CSliceTotals()
        self._lib.gx_replay_slice_totals(self._open(), ctypes.byref(raw))
        return SliceTotals(raw.seen, raw.shorter, raw.deeper, raw.dropped)

    def insns(self) -> dict[int, int]:
        """Instructions replayed, by vCPU."""
        return {vcpu: self._insns(self._open(), vcpu) for vcpu in sorted(self._vcpus)}

    def _insns(self, handle: int, vcpu: int) -> int:
        insns, blocks = ctypes.c_uint64(), ctypes.c_uint64()
        self._lib.gx_replay_totals(handle, vcpu, ctypes.byref(insns), ctypes.byref(blocks))
        return insns.value

    def _taken(self, handle: int) -> Iterator[SliceRow]:
        buffer = ctypes.create_string_buffer(SLICES_AT_ONCE * _ROW.size)
        while n := int(self._lib.gx_replay_take_slices(handle, buffer, SLICES_AT_ONCE)):
            for row in _ROW.iter_unpack(buffer.raw[: n * _ROW.size]):
                yield SliceRow(*row)
