# SPDX-License-Identifier: GPL-2.0-or-later
"""Sums of what comes before each place, for counts of ranges; the loop is in C.

Twin: qemu-plugin/linecounts.h.
"""

from __future__ import annotations

import ctypes
from array import array
from ctypes import c_uint8, c_uint32, c_void_p

from gdbext.nativelib import library

__all__ = ["sums"]


def sums(values: bytearray) -> array[int]:
    """The sum of the values before each place; one longer than they are.

    Raises:
        NativeError: the library is missing.
    """
    function = library().gx_sums
    function.restype = None
    function.argtypes = (c_void_p, c_uint32, c_void_p)
    before = array("I", bytes(4 * (len(values) + 1)))
    n = len(values)
    content = (c_uint8 * n).from_buffer(values) if n else (c_uint8 * 1)()
    function(ctypes.byref(content), n, before.buffer_info()[0])
    return before
