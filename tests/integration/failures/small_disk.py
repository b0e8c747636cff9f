# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system of a given size, to fill; only root may make one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["SmallDisk", "small_disk"]


class SmallDisk:
    """A mounted tmpfs."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def resize(self, size: str) -> None:
        """Give it another size, such as `8m`."""
        subprocess.run(["mount", "-o", f"remount,size={size}", self.path], check=True)

    @property
    def is_full(self) -> bool:
        """Whether less than one chunk's record (64 KiB) would still fit."""
        state = os.statvfs(self.path)
        return state.f_bavail * state.f_frsize < 1 << 16


@contextmanager
def small_disk(path: Path, size: str) -> Iterator[SmallDisk]:
    """Mount a tmpfs of `size` (as mount(8) writes it) at `path`; skip the test where we may not."""
    path.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "gdbext-test", path],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"cannot mount a small file system: {done.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        # Lazily: a process of a failed test may still hold it.
        subprocess.run(["umount", "-l", path], check=True)
