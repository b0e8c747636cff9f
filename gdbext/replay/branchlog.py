# SPDX-License-Identifier: GPL-2.0-or-later
"""Every executed branch in order, as a CSV file; the loop is in C.

Twin: qemu-plugin/branchlog.c.
"""

from __future__ import annotations

import ctypes
import os
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gdbext.errors import NativeError, TargetError, TraceFormatError
from gdbext.replay.library import CLogBlocks, CLogTotals, replay_library

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gdbext.recording.blocks import BlockTable
    from gdbext.replay.classify import Classifier
    from gdbext.replay.replay import Replay

__all__ = ["LogTotals", "write_branch_log"]

STEPS_AT_ONCE: Final = 20_000_000
VCPU_COLUMN, HAS_EVENTS, FROM_START = 1, 2, 4


@dataclass(frozen=True)
class LogTotals:
    """What a log holds."""

    rows: int
    unknown: int
    """Of those: without a target."""
    begun: bool
    """The first instruction asked for was seen."""
    more: bool
    """The greatest number of rows was reached, and there are more."""


def write_branch_log(
    replay: Replay,
    path: Path,
    first: int | None,
    last: int | None,
    max_rows: int,
    progress: Callable[[float], None] | None = None,
) -> LogTotals:
    """Write a row for each branch, call and return that was executed: `opcode,address,target`.

    The opcode is hex of the bytes as in memory, `target` where control went. With several vCPUs a
    fourth column `vcpu` tells whose it is; each one's rows are in order. An incomplete file is
    removed when something fails.

    Args:
        replay: up to date; blocks that came since are not looked at.
        first: begin when the instruction at this address first runs; None: with the recording.
        last: end before the one at this address runs.

    Raises:
        TargetError: the file cannot be written.
        TraceFormatError: the recording is damaged.
    """
    try:
        # Rows are written by C: no buffer of Python's may stand in between.
        with path.open("wb", buffering=0) as out:
            try:
                several = replay.recording.n_vcpus > 1
                out.write(b"opcode,address,target" + (b",vcpu\n" if several else b"\n"))
                return _write(replay, out.fileno(), str(path), first, last, max_rows, progress)
            except BaseException:
                if path.is_file():
                    path.unlink()
                raise
    except OSError as error:
        raise TargetError(f"{path}: cannot be written: {error.strerror}") from error


def _write(
    replay: Replay,
    fd: int,
    name: str,
    first: int | None,
    last: int | None,
    max_rows: int,
    progress: Callable[[float], None] | None,
) -> LogTotals:
    recording, lib = replay.recording, replay_library()
    blocks = recording.blocks
    held, table = _tables(blocks, replay.classes, first, last)
    handlers = array("Q", sorted(replay.handlers))
    flags = VCPU_COLUMN * (recording.n_vcpus > 1) | FROM_START * (first is None)
    flags |= HAS_EVENTS * ("discontinuity" in recording.meta.get("features", ()))
    log = lib.gx_branch_log_new(
        ctypes.byref(table), handlers.buffer_info()[0], len(handlers), flags, fd, max_rows
    )
    if not log:
        raise NativeError("no memory for the log of branches")
    totals = CLogTotals()
    begun: dict[int, int] = {}
    try:
        n_chunks = len(recording.chunks) + len(recording.partial)
        for number, data in enumerate(recording.data()):
            begun[data.vcpu] = data.cut
            while True:
                result = lib.gx_branch_log_feed(
                    log, data.vcpu, data.seq, data.raw, len(data.raw), data.run, STEPS_AT_ONCE
                )
                if result != 1:
                    break
            if result < 0:
                reason = (lib.gx_branch_log_error(log) or b"damaged").decode()
                raise TraceFormatError(
                    f"{recording.path}: vCPU {data.vcpu} chunk {data.seq}: {reason}"
                )
            lib.gx_branch_log_totals(log, ctypes.byref(totals))
            if totals.over or totals.failed:
                break
            if progress is not None:
                progress((number + 1) / n_chunks)
        for vcpu, cut in begun.items():
            lib.gx_branch_log_end(log, vcpu, cut)
        lib.gx_branch_log_totals(log, ctypes.byref(totals))
    finally:
        lib.gx_branch_log_free(log)
        del held
    if totals.failed:
        raise TargetError(f"{name}: cannot be written: {os.strerror(totals.failed)}")
    return LogTotals(
        totals.rows,
        totals.unknown,
        bool(totals.on),
        bool(totals.over) and totals.rows == max_rows,
    )


def _tables(
    blocks: BlockTable, classes: Classifier, first: int | None, last: int | None
) -> tuple[list[Any], CLogBlocks]:
    """What C needs to know of the blocks, and what must be kept as long as it does."""
    raw = (ctypes.c_char * len(blocks.raw)).from_buffer_copy(blocks.raw) if blocks.raw else None
    arrays = [
        array("Q", blocks.address),
        array("H", blocks.n_insns),
        array("H", blocks.n_bytes),
        array("Q", blocks.offset),
    ]
    more = [
        array("B", classes.end_kind),
        array("B", classes.flags),
        array("Q", classes.target),
        _places(blocks, first),
        _places(blocks, last),
    ]
    pointers = [a.buffer_info()[0] for a in arrays]
    pointers.append(ctypes.addressof(raw) if raw is not None else 0)
    pointers += (a.buffer_info()[0] for a in more)
    return [raw, *arrays, *more], CLogBlocks(len(classes.end_kind) - 1, *pointers)


def _places(blocks: BlockTable, address: int | None) -> array[int]:
    """By block: the place, from 1, of the instruction at the address; 0 where it is not in it."""
    places = array("H", bytes(2 * len(blocks)))
    if address is None:
        return places
    for block in range(1, len(blocks)):
        at = blocks.address[block]
        if at <= address < at + blocks.n_bytes[block]:
            for place, size in enumerate(blocks.sizes(block), 1):
                if at == address:
                    places[block] = place
                at += size
    return places
