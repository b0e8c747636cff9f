# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiled replay library, loaded with ctypes: its path, its check, its prototypes.

Twin: qemu-plugin/library.h. The prototypes of its replay part are in the replay package.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

from gdbext.errors import NativeError

NATIVE_DIRECTORY = Path(__file__).parent / "native"
LIBRARY_PATH = NATIVE_DIRECTORY / "libgdbext-replay.so"
LIBRARY_VERSION = 1


class Item(ctypes.Structure):
    """One decoded step of a chunk: struct gx_item."""

    # block: id of the block executed, or 0 for an event
    # event: the event's number when block is 0
    # offset: where the event's payload length and payload begin in the raw chunk
    _fields_ = (
        ("block", ctypes.c_uint32),
        ("event", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
    )


@cache
def library() -> ctypes.CDLL:
    """The replay library, loaded once.

    Raises:
        NativeError: it was not built, does not load, or is of another version.
    """
    return load(LIBRARY_PATH)


def load(path: Path) -> ctypes.CDLL:
    """Load the replay library at `path` and declare its functions.

    Raises:
        NativeError: it was not built, does not load, or is of another version.
    """
    if not path.exists():
        raise NativeError(f"{path}: not built; run 'make plugin' in the source tree")
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise NativeError(f"{path}: cannot be loaded: {error}") from error
    try:
        _declare(loaded)
    except AttributeError as error:
        raise NativeError(f"{path}: does not fit this gdbext: {error}; build it again") from error
    version = int(loaded.gx_version())
    if version != LIBRARY_VERSION:
        raise NativeError(f"{path}: library version {version}; this gdbext needs {LIBRARY_VERSION}")
    return loaded


def compress(data: bytes, level: int = 3) -> bytes:
    """One zstd frame that holds `data`.

    Raises:
        NativeError: the library is missing, or it fails.
    """
    lib = library()
    capacity = int(lib.gx_compress_bound(len(data)))
    target = ctypes.create_string_buffer(max(capacity, 1))
    size = int(lib.gx_compress(target, capacity, data, len(data), level))
    if size < 0:
        raise NativeError(f"compression of {len(data)} bytes failed")
    return target.raw[:size]


def decompress(frame: bytes, raw_length: int) -> bytes | None:
    """The bytes in a zstd frame; None if it is damaged or does not hold exactly `raw_length`.

    Raises:
        NativeError: the library is missing.
    """
    target = ctypes.create_string_buffer(max(raw_length, 1))
    size = int(library().gx_decompress(target, raw_length, frame, len(frame)))
    if size != raw_length:
        return None
    return target.raw[:raw_length]


def _declare(lib: ctypes.CDLL) -> None:
    pointer, size, i64 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
    u32, u64 = ctypes.c_uint32, ctypes.c_uint64
    prototypes: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "gx_version": (u32, ()),
        "gx_decompress": (i64, (pointer, size, pointer, size)),
        "gx_compress": (i64, (pointer, size, pointer, size, ctypes.c_int)),
        "gx_compress_bound": (size, (size,)),
        "gx_blocks_parse": (i64, (pointer, size, u64, pointer, pointer, pointer, pointer)),
        "gx_decoder_new": (pointer, (u32,)),
        "gx_decoder_free": (None, (pointer,)),
        "gx_decoder_items": (i64, (pointer, pointer, size, u64, pointer, size)),
        "gx_decoder_totals": (
            ctypes.c_int,
            (pointer, pointer, size, u64, pointer, pointer, pointer),
        ),
        "gx_decoder_error_offset": (u64, (pointer,)),
        "gx_decoder_error": (ctypes.c_char_p, (pointer,)),
    }
    for name, (result, arguments) in prototypes.items():
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments
