# SPDX-License-Identifier: GPL-2.0-or-later
"""What sessions left behind that were killed, or could not save their recording."""

from __future__ import annotations

import shutil
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gdbext.target.control import is_listening
from gdbext.target.runtime import runtime_root

__all__ = ["Leftover", "sweep"]

_LIVE_HEADER: Final = struct.Struct("<8sIIQQI")
_LIVE_BUFFERS_OFFSET: Final = 4096
_BUFFER_STATE_OFFSET: Final = 12
_STREAM_FIRST_RECORD: Final = 32
_RECORD_HEADER_SIZE: Final = 24


@dataclass(frozen=True)
class Leftover:
    """A live directory whose QEMU and whose gdbext are gone, with a recording in it."""

    directory: Path
    """Where the files are; in the runtime directory there may be only a link to it."""
    size_bytes: int
    """Space it takes on disk."""


def sweep(root: Path | None = None) -> list[Leftover]:
    """Remove the directories of dead sessions that recorded nothing; return the others, by name.

    A session is dead if the process that its name tells (`runtime.session_name`) and its QEMU are
    gone. One whose QEMU has not begun to record waits for it, and stays.
    """
    found = []
    for session in sorted((root or runtime_root()).glob("*-*-*")):
        directory = session.resolve()
        if session.is_symlink() and not directory.exists():
            session.unlink(missing_ok=True)
            continue
        qemu = _qemu(directory / "live")
        if not qemu or _is_alive(qemu) or _is_alive(_starter(session)):
            continue
        if is_listening(directory / "control"):  # of another process namespace
            continue
        if _holds_recording(directory):
            found.append(Leftover(directory, _size(directory)))
        else:
            shutil.rmtree(directory, ignore_errors=True)
            if session.is_symlink():
                session.unlink(missing_ok=True)
    return found


def _starter(session: Path) -> int | None:
    """The process id in a session's name, `LABEL-PID-RANDOM`."""
    word = session.name.rsplit("-", 2)[1]
    return int(word) if word.isdecimal() else None


def _qemu(live: Path) -> int | None:
    """The process id in the header of `live` (docs/trace-format.md, "live")."""
    header = _start_of(live, _LIVE_HEADER.size)  # zeros until QEMU is ready
    return int(_LIVE_HEADER.unpack(header)[5]) if len(header) == _LIVE_HEADER.size else None


def _is_alive(pid: int | None) -> bool:
    return pid is not None and Path(f"/proc/{pid}").exists()


def _holds_recording(directory: Path) -> bool:
    """Whether there is more than the stream's head, or a chunk was begun."""
    start = _start_of(directory / "stream", _STREAM_FIRST_RECORD + _RECORD_HEADER_SIZE)
    if len(start) == _STREAM_FIRST_RECORD + _RECORD_HEADER_SIZE:
        (meta_length,) = struct.unpack_from("<Q", start, _STREAM_FIRST_RECORD + 8)
        end_of_head = len(start) + meta_length
        if _has_chunk(directory / "stream", end_of_head):
            return True
    header = _start_of(directory / "live", _LIVE_HEADER.size)
    if len(header) < _LIVE_HEADER.size:
        return False
    _, n_vcpus, n_buffers, buffer_size, _, _ = _LIVE_HEADER.unpack(header)
    with (directory / "live").open("rb") as live:
        for index in range(n_vcpus * n_buffers):
            live.seek(_LIVE_BUFFERS_OFFSET + index * buffer_size + _BUFFER_STATE_OFFSET)
            if live.read(4).strip(b"\0"):
                return True
    return False


def _has_chunk(stream: Path, offset: int) -> bool:
    """Whether a CHUNK record follows; BLOCKS and END alone are no recording."""
    with stream.open("rb") as file:
        while True:
            file.seek(offset)
            header = file.read(_RECORD_HEADER_SIZE)
            if len(header) < _RECORD_HEADER_SIZE:
                return False
            type_, _, length = struct.unpack_from("<HHQ", header, 4)
            if type_ == 3:
                return True
            offset += _RECORD_HEADER_SIZE + length


def _start_of(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def _size(directory: Path) -> int:
    return sum(file.lstat().st_blocks * 512 for file in directory.iterdir())
