# SPDX-License-Identifier: GPL-2.0-or-later
"""Which GDB to run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from gdbext.errors import TargetError

__all__ = ["find_gdb"]

VARIABLE: Final = "GDB"


def find_gdb() -> Path:
    """The GDB to use: $GDB, gdb-multiarch or gdb.

    Raises:
        TargetError: there is none.
    """
    wanted = os.environ.get(VARIABLE)
    for name in [wanted] if wanted else ["gdb-multiarch", "gdb"]:
        found = shutil.which(name)
        if found:
            return Path(found)
    if wanted:
        raise TargetError(f"{VARIABLE}={wanted}: no such program")
    raise TargetError("gdb-multiarch: not found; install Debian's package gdb-multiarch")
