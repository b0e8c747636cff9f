# SPDX-License-Identifier: GPL-2.0-or-later
"""Running a process to its end and what it used of time and memory."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gdbext.errors import GdbextError

__all__ = ["BenchError", "Usage", "run", "wait_used"]

TIMEOUT_S: Final = 600.0


class BenchError(GdbextError):
    """Something could not be measured."""


@dataclass(frozen=True)
class Usage:
    """What one process used."""

    wall_s: float
    cpu_s: float
    """User and system time, of all threads."""
    max_rss_bytes: int
    """The most memory that was resident at a time."""


def run(
    command: Sequence[str], output: Path, environment: Mapping[str, str] | None = None
) -> Usage:
    """Run a command without input to its end.

    Args:
        output: file that gets what it prints.
        environment: variables beside ours.

    Raises:
        BenchError: it ends with another status than 0, or not within ten minutes.
    """
    with output.open("wb") as out:
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
        usage = wait_used(process, started)
    if process.returncode != 0:
        said = output.read_text(errors="replace").strip().splitlines() or ["it printed nothing"]
        raise BenchError(f"{command[0]}: ended with status {process.returncode}: {said[-1]}")
    return usage


def wait_used(process: subprocess.Popen[bytes], started: float) -> Usage:
    """Wait for the end of a process and return what it used; sets `process.returncode`.

    It is killed after ten minutes, or when this is interrupted. The kernel's maximum of a process
    begins with the memory of the one that started it; whether that matters is checked.

    Args:
        started: `time.monotonic()` before its start.

    Raises:
        BenchError: this process has used more memory, so that the other's cannot be told.
    """
    killer = threading.Timer(TIMEOUT_S, process.kill)
    killer.start()
    try:
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - started
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        killer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if used.ru_maxrss <= ours and process.returncode == 0:
        raise BenchError(f"this process used {ours} KiB; memory of others cannot be measured")
    return Usage(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
