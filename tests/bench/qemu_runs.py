# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of QEMU: without plugin, with it loaded, or recording everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gdbext.recording.reader import Recording
from gdbext.target.boards import load_board
from gdbext.target.launch import RecorderOptions
from gdbext.target.qemu_binary import QemuBinary
from tests.bench.firmware import bench_firmware, did_its_work
from tests.bench.machine import QemuRelease
from tests.bench.processes import BenchError, Usage, run
from tests.bench.settings import Settings

__all__ = ["LOADED", "PLAIN", "RECORDING", "Run", "Size", "plugin_words", "run_bench", "size_of"]

PLAIN: Final = "plain"
LOADED: Final = "plugin loaded"
RECORDING: Final = "recording"


@dataclass(frozen=True)
class Size:
    """What a recording holds."""

    n_bytes: int
    n_insns: int

    @property
    def bytes_per_insn(self) -> float:
        """Of the whole stream, block table included."""
        return self.n_bytes / self.n_insns


@dataclass(frozen=True)
class Run:
    """What a run of QEMU used, and the size of its recording if it has made one."""

    usage: Usage
    size: Size | None = None

    @property
    def wall_s(self) -> float:
        """Time from QEMU's start to the end of the work."""
        return self.usage.wall_s

    @property
    def cpu_s(self) -> float:
        """User and system time of QEMU."""
        return self.usage.cpu_s

    @property
    def max_rss_bytes(self) -> float:
        """The most memory that QEMU had resident."""
        return self.usage.max_rss_bytes

    @property
    def n_insns(self) -> int:
        """Instructions recorded."""
        assert self.size is not None
        return self.size.n_insns

    @property
    def bytes_per_insn(self) -> float:
        """Of the recording on disk."""
        assert self.size is not None
        return self.size.bytes_per_insn


def run_bench(
    settings: Settings,
    release: QemuRelease,
    board_name: str,
    iterations: int,
    kind: str,
    *,
    fresh: bool = False,
    extra: Sequence[str] = (),
) -> Run:
    """Run the benchmark firmware to its end; a recording is measured and removed.

    Args:
        kind: PLAIN, LOADED or RECORDING.
        extra: further arguments for QEMU.
    """
    board = load_board(board_name)
    qemu = release.program(board.qemu)
    elf = bench_firmware(board_name, iterations, fresh=fresh)
    output = settings.directory / "output"
    with settings.live_directory() as live:
        words = plugin_words(qemu, kind, live)
        command = [str(qemu.path), *qemu.arguments, *board.arguments(elf), *words, *extra]
        usage = run(command, output, qemu.environment)
        did_its_work(output, iterations)
        return Run(usage, size_of(live) if kind == RECORDING else None)


def plugin_words(qemu: QemuBinary, kind: str, live: Path) -> list[str]:
    """QEMU's arguments for a kind of run."""
    if kind == PLAIN:
        return []
    return ["-plugin", RecorderOptions(record=kind == RECORDING).argument(qemu.plugin, live)]


def size_of(live: Path) -> Size:
    """Size of a finished recording.

    Raises:
        BenchError: the recorder has not written all.
    """
    with Recording.open(live) as recording:
        if recording.end is None or recording.cut:
            raise BenchError(f"{live}: the recording is not complete: {recording.cut}")
        n_insns = sum(vcpu.instructions for vcpu in recording.end)
    return Size((live / "stream").stat().st_size, n_insns)
