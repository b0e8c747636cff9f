# SPDX-License-Identifier: GPL-2.0-or-later
"""For GDB's `source`: finds gdbext and what it needs beside this file, and loads the commands.

GDB brings its own Python, which knows nothing of the virtual environment that gdbext lies in. The
packages gdbext needs inside GDB are pure Python or use ctypes, so those of another Python do.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import gdb


def _add_paths() -> None:
    parent = Path(__file__).resolve().parent.parent.parent
    # Installed, the packages lie beside ours; in a source tree, in its .venv. `gdbext debug` says
    # where, for an environment elsewhere.
    places = [str(parent)]
    places += filter(None, os.environ.get("GDBEXT_SITE_PACKAGES", "").split(os.pathsep))
    places += map(str, sorted(parent.glob(".venv/lib/python3*/site-packages")))
    sys.path[:0] = [place for place in places if place not in sys.path]


def _load() -> None:
    # Unlike the rest of the package this file is run by whatever Python GDB has.
    if sys.version_info < (3, 11):  # noqa: UP036
        version = ".".join(str(part) for part in sys.version_info[:2])
        raise gdb.GdbError(f"gdbext: needs Python 3.11 or later in GDB; this GDB has {version}")
    _add_paths()
    try:
        importlib.import_module("gdbext.gdb")
    except ModuleNotFoundError as error:
        raise gdb.GdbError(
            f"gdbext: GDB's Python cannot find the package '{error.name}'; install gdbext with "
            "pip, or run 'make setup' in the source tree"
        ) from None


_load()
