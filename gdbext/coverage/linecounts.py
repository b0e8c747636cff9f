# SPDX-License-Identifier: GPL-2.0-or-later
"""How often source lines ran and how much of them, from counts of instructions; the loop is in C.

A line ran as often as its most executed instruction; of several copies of a line (inlined code,
templates, functions of a header) the counts add up. Where a line has statement starts (`is_stmt`
rows), only they count for it: an optimising compiler moves parts of a line to where others run.

Twin: qemu-plugin/linecounts.h.
"""

from __future__ import annotations

import ctypes
from array import array
from ctypes import c_int64, c_uint8, c_uint32, c_void_p
from typing import TYPE_CHECKING, Final

from gdbext.errors import NativeError
from gdbext.nativelib import library

if TYPE_CHECKING:
    from gdbext.coverage.layout import Layout
    from gdbext.coverage.model import State
    from gdbext.coverage.reached import Reached

__all__ = ["STATES", "CLineRow", "line_counts"]

STATES: Final[tuple[State, ...]] = ("uncovered", "undecided", "partial", "covered")
"""By `CLineRow.state`."""


class _Pieces(ctypes.Structure):
    """GxLinePieces."""

    _fields_ = (
        ("n_lines", c_uint32),
        ("n_slots", c_uint32),
        ("line_from", c_void_p),
        ("first", c_void_p),
        ("own", c_void_p),
        ("end", c_void_p),
        ("slot", c_void_p),
        ("tells", c_void_p),
    )


class _Places(ctypes.Structure):
    """GxPlaces."""

    _fields_ = (
        ("proven", c_void_p),
        ("covered", c_void_p),
        ("undecided", c_void_p),
        ("outcomes", c_void_p),
        ("branches", c_void_p),
        ("decisions", c_void_p),
    )


class CLineRow(ctypes.Structure):
    """GxLineRow."""

    _fields_ = (
        ("count", c_int64),
        ("state", c_uint32),
        ("copies", c_uint32),
        ("covered", c_uint32),
        ("total", c_uint32),
        ("own_total", c_uint32),
        ("own_covered", c_uint32),
        ("own_undecided", c_uint32),
        ("own_outcomes", c_uint32),
        ("own_branches", c_uint32),
        ("own_decisions", c_uint32),
    )


def line_counts(layout: Layout, reached: Reached) -> ctypes.Array[CLineRow]:
    """A `CLineRow` for each line of the layout.

    Raises:
        NativeError: the library is missing, or there is no memory.
    """
    function = library().gx_line_counts
    function.restype = ctypes.c_bool
    function.argtypes = (c_void_p, c_void_p, c_void_p)
    n_lines = len(layout.line_number)
    rows = (CLineRow * n_lines)()
    tells = (c_uint8 * max(len(layout.tells), 1)).from_buffer_copy(layout.tells or b"\0")
    pieces = _Pieces(
        n_lines,
        max(layout.slot, default=0) + 1,
        _at(layout.line_from),
        _at(layout.first),
        _at(layout.own),
        _at(layout.end),
        _at(layout.slot),
        ctypes.addressof(tells),
    )
    places = _Places(
        _at(reached.proven),
        _at(reached.covered_before),
        _at(reached.undecided_before),
        _at(reached.outcomes_before),
        _at(reached.branches_before),
        _at(reached.decisions_before),
    )
    if not function(ctypes.byref(pieces), ctypes.byref(places), ctypes.byref(rows)):
        raise NativeError("coverage of lines: no memory")
    return rows


def _at(values: array[int]) -> int:
    return values.buffer_info()[0]
