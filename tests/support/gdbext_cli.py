# SPDX-License-Identifier: GPL-2.0-or-later
"""Running the command line as users do: another process, everything it printed at hand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from gdbext.target import qemu_binary

__all__ = ["Done", "environment", "forever_elf", "gdbext", "gdbext_command", "qemu_processes"]

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Done:
    """An ended gdbext."""

    status: int
    out: str
    err: str


def gdbext_command(*words: object) -> list[str]:
    """The command line of `gdbext WORDS`, whatever is installed."""
    return [sys.executable, "-m", "gdbext.cli", *map(str, words)]


def environment(runtime: Path, qemu_root: str = "") -> dict[str, str]:
    """Variables for a gdbext with its own runtime directory, and the QEMU below `qemu_root`."""
    changed = {"XDG_RUNTIME_DIR": str(runtime), "PYTHONPATH": str(ROOT)}
    if qemu_root:
        changed[qemu_binary.DIRECTORY_VARIABLE] = qemu_root
    return {**os.environ, **changed}


def gdbext(
    *words: object,
    runtime: Path,
    qemu_root: str = "",
    cwd: Path | None = None,
    timeout: float = 120,
) -> Done:
    """Run `gdbext WORDS` to its end, without a terminal."""
    done = subprocess.run(
        gdbext_command(*words),
        env=environment(runtime, qemu_root),
        cwd=cwd,
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


def qemu_processes(runtime: Path) -> list[int]:
    """QEMUs that record below `runtime`, by the words of their command lines."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        name = Path(os.fsdecode(words[0])).name
        if name.startswith("qemu-system") and any(os.fsencode(runtime) in word for word in words):
            found.append(int(process.name))
    return found


def forever_elf(directory: Path) -> Path:
    """Build a Cortex-M program that counts in r0 for ever; skips without the cross compiler."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    source = directory / "forever.s"
    source.write_text(
        ".syntax unified\n.cpu cortex-m3\n.thumb\n"
        ".word 0x20001000\n.word _start\n"
        ".global _start\n.type _start, %function\n.thumb_func\n"
        "_start: movs r0, #0\n"
        ".type count, %function\n.thumb_func\n"
        "count: adds r0, #1\n  b count\n"
        ".size count, .-count\n"
    )
    elf = directory / "forever.elf"
    subprocess.run(
        ["arm-none-eabi-gcc", "-nostdlib", "-Wl,-Ttext=0", "-o", str(elf), str(source)], check=True
    )
    return elf
