# SPDX-License-Identifier: GPL-2.0-or-later
"""The recording: what the recorder inside QEMU left on disk (docs/trace-format.md)."""

from __future__ import annotations

from gdbext.recording.blocks import BlockTable
from gdbext.recording.reader import ChunkData, Recording
from gdbext.recording.stream import ChunkInfo, VcpuTotals
from gdbext.recording.writer import RecordingWriter, write_recording

__all__ = [
    "BlockTable",
    "ChunkData",
    "ChunkInfo",
    "Recording",
    "RecordingWriter",
    "VcpuTotals",
    "write_recording",
]
