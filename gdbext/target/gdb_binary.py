# SPDX-License-Identifier: GPL-2.0-or-later
"""Which GDB to run, and what it can do."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gdbext.errors import TargetError

__all__ = ["GdbFacts", "find_gdb", "gdb_facts"]

VARIABLE: Final = "GDBEXT_GDB"


@dataclass(frozen=True)
class GdbFacts:
    """What a GDB says about itself."""

    version: str
    python: str | None
    """Version of the Python inside; None if it was built without."""
    missing: tuple[str, ...]
    """Packages that the commands need and this Python cannot import."""


def find_gdb() -> Path:
    """The GDB to use: $GDBEXT_GDB, gdb-multiarch or gdb.

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


def gdb_facts(gdb: Path, loader: Path) -> GdbFacts:
    """Ask a GDB for its version, its Python, and whether that can load our commands.

    Args:
        loader: the script that users source (gdbext/gdb/load.py).

    Raises:
        TargetError: it does not run.
    """
    lines = _ask(gdb, ["-ex", "python import sys; print('python', sys.version.split()[0])"])
    version = next((line for line in lines if line.startswith("GNU gdb")), "an unknown version")
    python = next((line.split()[1] for line in lines if line.startswith("python ")), None)
    if python is None:
        return GdbFacts(version, None, ())
    said = _ask(
        gdb, ["-x", str(loader), "-ex", "python print('trace', 'gdbext.gdb' in sys.modules)"]
    )
    missing = () if "trace True" in said else tuple(said[-1:] or ["the commands"])
    return GdbFacts(version, python, missing)


def _ask(gdb: Path, arguments: list[str]) -> list[str]:
    command = [str(gdb), "-nx", "-batch", "-ex", "show version", "-ex", "python import sys"]
    try:
        done = subprocess.run(
            [*command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetError(f"{gdb}: does not run: {error}") from error
    return done.stdout.decode(errors="replace").splitlines()
