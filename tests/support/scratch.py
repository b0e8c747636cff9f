# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders that outlive one test, such as for what is recorded once and asked by many."""

from __future__ import annotations

import atexit
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

__all__ = ["scratch"]


@cache
def _all() -> TemporaryDirectory[str]:
    made = TemporaryDirectory(prefix="gdbext-tests-")
    atexit.register(made.cleanup)
    return made


def scratch() -> Path:
    """A new folder that goes when the test process ends."""
    return Path(mkdtemp(dir=_all().name))
