# SPDX-License-Identifier: GPL-2.0-or-later
"""Test firmware, built when a test asks for it."""

from __future__ import annotations

import fcntl
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

import pytest

__all__ = ["FIRMWARE_DIRECTORY", "build", "build_big", "build_given", "counters", "firmware_path"]

FIRMWARE_DIRECTORY: Final = Path(__file__).resolve().parent.parent / "firmware"


def firmware_path(program: str, board: str, variant: str = "") -> Path:
    """Return the ELF of a program for a board, built if it is not; see tests/firmware/README.md.

    Args:
        variant: end of the file's name, such as `O0`; empty for programs built in one way.
    """
    return build("-".join(filter(None, (program, board, variant))))


@cache
def build(name: str) -> Path:
    """Return `build/NAME` of the firmware folder after `make` (`.elf` is added if it has no end).

    Skips the test if the compiler is not installed, fails it if there is no such file to build.
    """
    file = name if "." in name else f"{name}.elf"
    target = f"build/{file}"
    directory = FIRMWARE_DIRECTORY / "build"
    directory.mkdir(exist_ok=True)
    with (directory / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may want the same file
        missing = _make("missing").split()
        if target in missing:
            pytest.skip(f"{file}: its cross compiler is not installed (make firmware)")
        _make(target)
    return FIRMWARE_DIRECTORY / target


def build_given(source: Path, board: str, variant: str, kind: str = "given") -> Path:
    """Return the ELF of a random program's source, built beside it; skips as `build` does.

    Args:
        kind: of program: `given` or `decisions`.
    """
    build(f"basic-{board}-O0")  # by the same compiler
    target = f"{source.parent}/{kind}-{board}-{variant}.elf"
    _make(target, f"BUILD={source.parent}", f"{kind.upper()}={source}")
    return Path(target)


def build_big(folder: Path) -> Path:
    """Return the ELF of the C files in `folder` for mps2-an385; skips as `build` does.

    They define `__wrap_main`, which ends with `__real_main`: a round of the benchmark.
    """
    build("basic-mps2-an385-O0")  # by the same compiler
    target = f"{folder}/big-mps2-an385.elf"
    _make(target, f"BUILD={folder}", f"BIG={folder}", "OPTIMISE=-O0")
    return Path(target)


def counters(output: bytes | str) -> dict[str, int]:
    """Return the counters that a program printed, by name."""
    text = output.decode(errors="replace") if isinstance(output, bytes) else output
    words = (line.split() for line in text.splitlines())
    return {w[1]: int(w[2]) for w in words if len(w) == 3 and w[0] == "counter"}


def _make(target: str, *words: str) -> str:
    done = subprocess.run(
        ["make", "--no-print-directory", "-C", str(FIRMWARE_DIRECTORY), target, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(f"make -C tests/firmware {target}: {done.stdout}{done.stderr}", pytrace=False)
    return done.stdout
