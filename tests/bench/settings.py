# SPDX-License-Identifier: GPL-2.0-or-later
"""What is to be measured, and how thoroughly."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.machine import QemuRelease

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """Common to all groups of rows."""

    qemus: Sequence[QemuRelease]
    rounds: int
    """How often each variant runs."""
    warm_up: int
    """Rounds before, which do not count."""
    seconds: float
    """How long a run without the plugin should take at least."""
    all_boards: bool
    """The benchmark firmware on every board it exists for."""
    directory: Path
    """For recordings; on a disk, since that is part of what is measured."""
    say: Callable[[str], None]
    """Told what is going on."""

    @property
    def own(self) -> QemuRelease:
        """The QEMU that gdbext finds by itself: for rows that do not depend on QEMU."""
        return next(release for release in self.qemus if release.root is None)

    @contextmanager
    def live_directory(self) -> Iterator[Path]:
        """A name for a recorder's live directory, which is removed at the end."""
        directory = self.directory / "live"
        shutil.rmtree(directory, ignore_errors=True)
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def saying(self, prefix: str) -> Callable[[str], None]:
        """`say` with something before each text."""
        return lambda text: self.say(f"{prefix}: {text}")
