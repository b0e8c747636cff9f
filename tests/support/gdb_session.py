# SPDX-License-Identifier: GPL-2.0-or-later
"""GDB in batch mode, without init files and with a fixed width; skips where there is none."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.gdbext_cli import ROOT, Done, environment

__all__ = ["LOADER", "gdb_batch", "need_gdb"]

LOADER = ROOT / "gdbext" / "gdb" / "load.py"


def need_gdb() -> str:
    """Return GDB's path, or skip."""
    found = shutil.which("gdb-multiarch")
    if found is None:
        pytest.skip("gdb-multiarch is not installed")
    return found


def gdb_batch(
    *commands: str, runtime: Path, elf: Path | None = None, load: bool = True, timeout: float = 120
) -> Done:
    """Run GDB commands, one after the other also when one fails, with ours loaded first."""
    words = [need_gdb(), "-nx", "-q", "-batch", "-ex", "set width 100", "-ex", "set height 0"]
    if load:
        words += ["-x", str(LOADER)]
    for command in commands:
        words += ["-ex", command]
    if elf is not None:
        words.append(str(elf))
    done = subprocess.run(
        words,
        env=environment(runtime),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Done(
        done.returncode,
        done.stdout.decode(errors="replace"),
        done.stderr.decode(errors="replace"),
    )
