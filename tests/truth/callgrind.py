# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls in a C program on this machine, as valgrind's callgrind counts them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Arcs", "annotated_arcs", "parse_arcs", "profile_on_host"]

Arcs = Counter[tuple[str, str]]
"""Calls by the names of (caller, callee)."""


def profile_on_host(sources: list[Path], folder: Path) -> tuple[Path, str]:
    """Compile at -O0 and run under callgrind.

    Returns:
        Its output file, with names written in full, and what the program printed.
    """
    for tool in ("gcc", "valgrind"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    program, profile = folder / "program", folder / "callgrind.out"
    command = ["gcc", "-O0", "-g", "-std=gnu11", "-static", "-o", str(program)]
    subprocess.run([*command, *map(str, sources)], check=True)
    command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    command += ["--compress-strings=no", "--compress-pos=no", str(program)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return profile, printed


def parse_arcs(profile: Path, source: str) -> Arcs:
    """Calls that functions of one source file make to each other.

    A function that recurs has a second name, `f'2` (valgrind's --separate-recs): it is one here.
    Format: valgrind's manual, "Callgrind Format Specification".

    Args:
        source: the end of the file's path.
    """
    arcs: Arcs = Counter()
    homes: dict[str, str] = {}
    file = function = called = ""
    for line in profile.read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "fl":
            file = value
        elif key == "fn":
            function = _one_name(value)
            homes[function] = file
        elif key == "cfn":
            called = _one_name(value)
        elif key == "calls":
            arcs[function, called] += int(value.split()[0])
    here = {name for name, home in homes.items() if home.endswith(source)}
    return Counter({arc: n for arc, n in arcs.items() if here.issuperset(arc)})


def annotated_arcs(profile: Path, source: str) -> Arcs:
    """The same as callgrind_annotate tells it."""
    command = ["callgrind_annotate", "--tree=calling", "--threshold=100", str(profile)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    entry = re.compile(
        rf"^ *[\d,]+ \( *[\d.]+%\)  (?P<mark>[*>]) +\S*?(?P<here>{re.escape(source)})?"
        r":(?P<name>[\w']+)(?: \((?P<calls>[\d,]+)x\))?(?: \[.*\])?$",
        re.MULTILINE,
    )
    arcs: Arcs = Counter()
    caller = ""
    for found in entry.finditer(text):
        name = _one_name(found["name"]) if found["here"] else ""
        if found["mark"] == "*":
            caller = name
        elif caller and name:
            arcs[caller, name] += int(found["calls"].replace(",", ""))
    return arcs


def _one_name(name: str) -> str:
    return re.sub(r"'\d+$", "", name)
