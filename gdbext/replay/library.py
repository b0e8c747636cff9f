# SPDX-License-Identifier: GPL-2.0-or-later
"""The replay's part of the compiled library: its structures and prototypes.

Twin: qemu-plugin/replay.h and qemu-plugin/library.h.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any

from gdbext import nativelib

__all__ = ["CCut", "CEdge", "CStats", "CTrap", "replay_library"]


class CEdge(ctypes.Structure):
    """GxEdge."""

    _fields_ = (
        ("from_", c_uint32),
        ("to", c_uint32),
        ("count", c_uint64),
        ("recovered", c_uint64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    )


class CCut(ctypes.Structure):
    """GxCut."""

    _fields_ = (("block", c_uint32), ("begun", c_uint32), ("count", c_uint64))


class CTrap(ctypes.Structure):
    """GxTrap."""

    _fields_ = (
        ("from_", c_uint32),
        ("begun", c_uint32),
        ("to", c_uint32),
        ("source", c_uint32),
        ("count", c_uint64),
        ("tail_chained", c_uint64),
    )


class CStats(ctypes.Structure):
    """GxStats."""

    _fields_ = tuple(
        (name, c_uint64)
        for name in (
            "traps",
            "trap_returns",
            "tail_chains",
            "task_switches",
            "context_starts",
            "ambiguous",
            "late_switches",
            "resets",
            "unmatched_returns",
            "above_start",
            "unwinds",
            "ambiguous_unwinds",
            "middle_entries",
            "abandoned",
            "unexplained",
            "restarts",
            "resumes",
            "gaps",
            "gap_blocks",
            "filtered",
            "filtered_blocks",
            "filtered_insns",
            "starts",
            "max_nesting",
            "dropped_contexts",
            "dropped_frames",
            "late",
        )
    )


class CNode(ctypes.Structure):
    """GxTreeRow."""

    _fields_ = (
        ("parent", c_uint32),
        ("fn", c_uint32),
        ("kind", c_uint32),
        ("depth", c_uint32),
        ("calls", c_uint64),
        ("self", c_uint64),
        ("inclusive", c_uint64),
    )


class CPathBranch(ctypes.Structure):
    """GxPathBranch."""

    _fields_ = (
        ("target", c_uint64),
        ("fall", c_uint64),
        ("root", c_uint32),
        ("reserved", c_uint32),
    )


class CPathNode(ctypes.Structure):
    """GxPathNode."""

    _fields_ = (("branch", c_uint32), ("taken", c_uint32), ("not_taken", c_uint32))


class CNodeBlock(ctypes.Structure):
    """GxNodeBlock."""

    _fields_ = (
        ("node", c_uint32),
        ("block", c_uint32),
        ("lost", c_uint32),
        ("reserved", c_uint32),
        ("count", c_uint64),
    )


class CCost(ctypes.Structure):
    """GxFunctionCost."""

    _fields_ = (("calls", c_uint64), ("self", c_uint64), ("inclusive", c_uint64))


class CHandler(ctypes.Structure):
    """GxHandlerRow."""

    _fields_ = tuple(
        (name, c_uint64)
        for name in (
            "address",
            "count",
            "complete",
            "tail_chained",
            "max_nesting",
            "self",
            "min_insns",
            "median_insns",
            "max_insns",
            "min_period",
            "median_period",
            "max_period",
            "kinds",
        )
    )


class CTask(ctypes.Structure):
    """GxTaskRow."""

    _fields_ = (
        ("vcpu", c_uint32),
        ("entry_fn", c_uint32),
        ("switches_in", c_uint64),
        ("self", c_uint64),
        ("longest_run", c_uint64),
        ("has_stack", c_uint64),
        ("stack", c_uint64),
    )


class CSliceWindow(ctypes.Structure):
    """GxSliceWindow."""

    _fields_ = (
        ("from_", c_uint64),
        ("to", c_uint64),
        ("min_insns", c_uint64),
        ("max_depth", c_uint32),
        ("longest", c_uint32),
        ("pieces", c_uint32),
        ("runs", c_uint32),
    )


class CSliceTotals(ctypes.Structure):
    """GxSliceTotals."""

    _fields_ = tuple((name, c_uint64) for name in ("seen", "shorter", "deeper", "dropped"))


class CLogBlocks(ctypes.Structure):
    """GxLogBlocks."""

    _fields_ = (
        ("count", c_uint64),
        *(
            (name, c_void_p)
            for name in (
                "address",
                "n_insns",
                "n_bytes",
                "offset",
                "raw",
                "end_kind",
                "flags",
                "target",
                "from_",
                "to",
            )
        ),
    )


class CLogTotals(ctypes.Structure):
    """GxLogTotals."""

    _fields_ = (
        ("rows", c_uint64),
        ("unknown", c_uint64),
        ("failed", c_uint32),
        ("on", c_uint32),
        ("over", c_uint32),
        ("reserved", c_uint32),
    )


@cache
def replay_library() -> ctypes.CDLL:
    """The library with the replay's functions declared.

    Raises:
        NativeError: it is missing or does not fit.
    """
    lib = nativelib.library()
    pointer = c_void_p
    u32, u64 = c_uint32, c_uint64
    prototypes: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "gx_replay_new": (pointer, (c_int, c_int)),
        "gx_replay_free": (None, (pointer,)),
        "gx_replay_add_blocks": (
            c_int,
            (pointer, pointer, c_size_t, u64, *[pointer] * 6),
        ),
        "gx_replay_add_vcpu": (c_int, (pointer, u32)),
        "gx_replay_add_vector": (c_int, (pointer, u64, c_int)),
        "gx_replay_add_handler_function": (c_int, (pointer, u32, u64)),
        "gx_replay_add_reset": (c_int, (pointer, u64)),
        "gx_replay_add_set_jump": (c_int, (pointer, u64)),
        "gx_replay_add_resumer": (c_int, (pointer, u32)),
        "gx_replay_provisional": (None, (pointer, u32, u32)),
        "gx_replay_feed": (c_int, (pointer, u32, u64, c_char_p, u64, u64, u64)),
        "gx_replay_totals": (None, (pointer, u32, pointer, pointer)),
        "gx_replay_stats": (None, (pointer, pointer)),
        "gx_replay_edges": (u64, (pointer, pointer, u64)),
        "gx_replay_executions": (u64, (pointer, pointer, u64)),
        "gx_replay_arrivals": (u64, (pointer, pointer, pointer, u64)),
        "gx_replay_cuts": (u64, (pointer, pointer, u64)),
        "gx_replay_traps": (u64, (pointer, pointer, u64)),
        "gx_replay_edges_to": (u64, (pointer, u64, pointer, u64)),
        "gx_replay_traps_to": (u64, (pointer, u64, pointer, u64)),
        "gx_replay_handler_runs": (u64, (pointer, u64)),
        "gx_replay_vectors": (u64, (pointer, pointer, u64)),
        "gx_replay_set_jumps": (u64, (pointer, pointer, u64)),
        "gx_replay_settle": (None, (pointer,)),
        "gx_replay_nodes": (u64, (pointer, pointer, u64)),
        "gx_replay_inlined": (None, (pointer, c_uint32, c_uint32, pointer)),
        "gx_replay_follow_paths": (
            c_int,
            (pointer, pointer, c_uint32, pointer, c_uint32, pointer, c_uint32),
        ),
        "gx_replay_path_counts": (u64, (pointer, pointer, u64)),
        "gx_replay_path_losses": (u64, (pointer, pointer, u64)),
        "gx_replay_node_blocks": (u64, (pointer, pointer, u64)),
        "gx_replay_costs": (c_int, (pointer, pointer, u32)),
        "gx_replay_tree_info": (None, (pointer, pointer, pointer)),
        "gx_replay_handlers": (u64, (pointer, pointer, u64)),
        "gx_replay_tasks": (u64, (pointer, pointer, u64)),
        "gx_replay_observe": (c_int, (pointer, pointer)),
        "gx_replay_take_slices": (u64, (pointer, pointer, u64)),
        "gx_replay_end_slices": (None, (pointer,)),
        "gx_replay_slice_totals": (None, (pointer, pointer)),
        "gx_replay_error": (c_char_p, (pointer,)),
        "gx_replay_error_offset": (u64, (pointer,)),
        "gx_branch_log_new": (pointer, (pointer, pointer, u64, c_int, c_int, u64)),
        "gx_branch_log_free": (None, (pointer,)),
        "gx_branch_log_feed": (c_int, (pointer, u32, u64, c_char_p, u64, u64, u64)),
        "gx_branch_log_end": (None, (pointer, u32, u32)),
        "gx_branch_log_totals": (None, (pointer, pointer)),
        "gx_branch_log_error": (c_char_p, (pointer,)),
        "gx_decoder_tail": (
            ctypes.c_int64,
            (pointer, c_char_p, c_size_t, u64, pointer, c_size_t, pointer),
        ),
    }
    for name, (result, arguments) in prototypes.items():
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments
    return lib
