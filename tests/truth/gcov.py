# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage of a C source on this machine, as gcc's gcov tells it."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path
from typing import Any

__all__ = ["GcovLine", "gcov", "gcov_functions"]


@dataclass(frozen=True)
class GcovLine:
    """A line that has code."""

    count: int
    branches: tuple[int, ...]
    """Counts of the outcomes, as gcov lists them."""


def gcov(sources: list[Path], wanted: Path, folder: Path) -> tuple[dict[int, GcovLine], str]:
    """Compile at -O0 with `--coverage`, run, and ask gcov.

    Returns:
        The lines of `wanted`, and what the program printed.
    """
    for tool in ("gcc", "gcov"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    command = ["gcc", "-O0", "-std=gnu11", "--coverage", f"-I{wanted.parent}", "-o", "program"]
    subprocess.run([*command, *map(str, sources)], cwd=folder, check=True)
    printed = subprocess.run(
        [folder / "program"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    lines = _report(wanted, folder)["lines"]
    found = {
        line["line_number"]: GcovLine(
            line["count"], tuple(branch["count"] for branch in line["branches"])
        )
        for line in lines
    }
    return found, printed


def gcov_functions(wanted: Path, folder: Path) -> dict[str, tuple[int, int]]:
    """After `gcov`: line and number of executions of each function of `wanted`."""
    return {
        function["name"]: (function["start_line"], function["execution_count"])
        for function in _report(wanted, folder)["functions"]
    }


def _report(wanted: Path, folder: Path) -> Any:
    """What gcov says of a source file."""
    notes = next(folder.glob(f"*{wanted.stem}.gcda"))
    report = subprocess.run(
        ["gcov", "--stdout", "--json-format", "--branch-probabilities", notes.name],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    files = json.loads(report.splitlines()[0])["files"]
    return next(file for file in files if file["file"].endswith(wanted.name))
