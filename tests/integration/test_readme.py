# SPDX-License-Identifier: GPL-2.0-or-later
"""README opens with the real output of the demo."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def settled(text: str) -> list[str]:
    """The text without its numbers: a timer interrupt more or less changes many a little."""
    lines = [re.sub(r"[\d.,]*\d", "N", line) for line in text.strip().splitlines()]
    return [" ".join(line.split()) for line in lines]


def commands(lines: list[str]) -> list[str]:
    """What was typed."""
    return [line for line in lines if line.startswith(("$ ", "(gdb) "))]


def readmes_tools() -> bool:
    """Another compiler makes other code, another GDB other words; these made README."""
    compiler = subprocess.run(
        ["arm-none-eabi-gcc", "-dumpversion"], capture_output=True, text=True, check=True
    ).stdout
    debugger = subprocess.run(
        ["gdb-multiarch", "--version"], capture_output=True, text=True, check=True
    ).stdout
    return compiler.startswith("12.2") and "GDB (Debian 13." in debugger.replace("GNU gdb", "GDB")


def test_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    if shutil.which("arm-none-eabi-gcc") is None or os.environ.get("GDBEXT_QEMU_DIR"):
        pytest.skip("needs arm-none-eabi-gcc, and the machine's own QEMU")
    block = re.search(r"```\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    demo = subprocess.run(
        [ROOT / "scripts" / "demo"],
        env={**os.environ, "PATH": path, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    shown, expected = settled(demo.stdout), settled(block[1])
    assert commands(shown) == commands(expected)
    assert "called 27,000 times" in demo.stdout
    assert "called 27,000 times" in block[1]
    if readmes_tools():
        assert shown == expected
