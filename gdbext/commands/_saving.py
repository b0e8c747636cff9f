# SPDX-License-Identifier: GPL-2.0-or-later
"""Making one self-contained file of a live recording."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdbext.errors import SymbolError, TargetError
from gdbext.recording.reader import Recording
from gdbext.recording.writer import finished, write_recording
from gdbext.symbols import Symbols
from gdbext.target.boot import read_launch_meta

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Saved", "recorded_totals", "recording_meta", "save"]


@dataclass(frozen=True)
class Saved:
    """What a saved recording holds."""

    path: Path
    n_insns: int
    n_blocks: int
    size_bytes: int
    finished: bool
    """The recorder had written all it was to write: it did not fail, and was not killed."""


def save(source: Path, output: Path, elf: Path | None = None) -> Saved:
    """Write the recording in `source` (a live directory or a file) to the file `output`.

    Adds what the launcher knew and what identifies the program. `output` is replaced at the end,
    in one step.

    Raises:
        GdbextError: it cannot be written.
        TraceFormatError: the source cannot be read.
    """
    with Recording.open(source) as recording:
        write_recording(recording, output, recording_meta(source, recording.meta, elf))
        was_finished = recording.end is not None
    n_insns, n_blocks = recorded_totals(output)
    try:
        size_bytes = output.stat().st_size
    except OSError as error:
        raise TargetError(f"{output}: is gone again: {error.strerror}") from error
    return Saved(output, n_insns, n_blocks, size_bytes, was_finished)


def recorded_totals(source: Path) -> tuple[int, int]:
    """Instructions and blocks in a recording, those of a live one's open chunks included.

    Raises:
        TraceFormatError: it cannot be read.
    """
    with Recording.open(source) as recording:
        finished_chunks = recording.stream.totals.values()
        dropped = recording.stream.dropped.values()
        n_insns = sum(vcpu.instructions for vcpu in finished_chunks)
        n_insns -= sum(vcpu.instructions for vcpu in dropped)
        n_blocks = sum(vcpu.blocks for vcpu in finished_chunks)
        n_blocks -= sum(vcpu.blocks for vcpu in dropped)
        for chunk in recording.partial:
            _, insns, blocks = finished(recording, chunk)
            n_insns += insns
            n_blocks += blocks
    return n_insns, n_blocks


def recording_meta(source: Path, meta: Mapping[str, Any], elf: Path | None) -> dict[str, Any]:
    """META keys to add: the launcher's, and the program's build ID and hash."""
    added = read_launch_meta(source) if source.is_dir() else {}
    path = elf or added.get("elf_path") or meta.get("elf_path")
    if not path:
        return added
    try:
        symbols = Symbols.open(Path(path))
    except SymbolError:
        # The recording is good without: it can be given an ELF file later.
        return {**added, "elf_path": str(path)}
    added |= {"elf_path": str(Path(path).absolute()), "elf_sha256": symbols.sha256}
    if symbols.build_id:
        added["elf_build_id"] = symbols.build_id
    return added
