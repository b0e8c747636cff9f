# SPDX-License-Identifier: GPL-2.0-or-later
"""The QEMUs that tests run with: the machine's own, and those in GDBEXT_TEST_QEMU_DIRS."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import pytest

from gdbext.target import qemu_binary
from gdbext.target.qemu_binary import QemuBinary

__all__ = ["QEMU_ROOTS", "qemu_in"]

_VARIABLE: Final = "GDBEXT_TEST_QEMU_DIRS"

QEMU_ROOTS: Final[tuple[str, ...]] = ("", *filter(None, os.environ.get(_VARIABLE, "").split(":")))
"""Where QEMUs are: "" is the one gdbext finds by itself, the others are folders that hold the
programs, or that a Debian package was unpacked into."""


def qemu_in(root: str, name: str) -> QemuBinary:
    """Return the QEMU program `name` of one of QEMU_ROOTS; skip the test if it is not there."""
    if not root:
        if qemu_binary.qemu_directory() is None and shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
        return qemu_binary.find(name)
    for path in (Path(root, "usr", "bin", name), Path(root, name)):
        if path.is_file():
            return qemu_binary.find(str(path))
    pytest.skip(f"{name} is not in {root}")
