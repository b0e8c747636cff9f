# SPDX-License-Identifier: GPL-2.0-or-later
"""doctor: what was found on this machine, and what does not work for want of it."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import gdbext
from gdbext import nativelib
from gdbext.commands._options import JSON
from gdbext.commands.context import print_json
from gdbext.commands.registry import command
from gdbext.errors import GdbextError
from gdbext.render.page import Column, Table
from gdbext.target import qemu_binary
from gdbext.target.boards import boards
from gdbext.target.control import discover
from gdbext.target.gdb_binary import find_gdb, gdb_facts
from gdbext.target.runtime import runtime_root

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@dataclass(frozen=True)
class Finding:
    """One part of the machine."""

    part: str
    state: str
    """`ok`, `missing` (something does not work) or `optional` (missing, and rarely needed)."""
    text: str


@command(
    "doctor",
    "Tell what was found (QEMU, plugin, GDB, tools) and what does not work without the rest.",
    arguments=[JSON],
    doors=["cli"],
)
def doctor(context: Context, options: argparse.Namespace) -> int:
    """Print the findings; 1 if something needed is missing."""
    findings = [
        Finding("gdbext", "ok", f"{gdbext.__version__}, Python {sys.version.split()[0]}"),
        _replay_library(),
        *_qemus(),
        _gdb(),
        _dot(),
        _runtime(),
    ]
    if options.json:
        print_json(context, "doctor", {"findings": [asdict(finding) for finding in findings]})
    else:
        table = Table("", [Column(""), Column(""), Column("")])
        for finding in findings:
            table.add(finding.part, finding.state, finding.text)
        context.page.table(table)
    return 1 if any(finding.state == "missing" for finding in findings) else 0


def _replay_library() -> Finding:
    try:
        nativelib.library()
    except GdbextError as error:
        return Finding("replay library", "missing", f"{error}; nothing can be analysed")
    return Finding("replay library", "ok", str(nativelib.LIBRARY_PATH))


def _qemus() -> list[Finding]:
    """One finding for each program that a board names."""
    findings = []
    needed: dict[str, list[str]] = {}
    for board in boards():
        needed.setdefault(board.qemu, []).append(board.name)
    for name, users in sorted(needed.items()):
        without = f"without it: no {', '.join(users)}"
        try:
            found = qemu_binary.find(name)
            plugin = found.plugin
        except GdbextError as error:
            findings.append(Finding(name, "missing", f"{error}; {without}"))
            continue
        text = f"{found.version_text} at {found.path}, {plugin.name}"
        if found.family == "v1":
            text += "; slower than with QEMU 9.0 or later"
        findings.append(Finding(name, "ok", text))
    return findings


def _gdb() -> Finding:
    try:
        path = find_gdb()
        facts = gdb_facts(path, Path(gdbext.__file__).resolve().parent / "gdb" / "load.py")
    except GdbextError as error:
        return Finding("gdb", "missing", f"{error}; without it: no `gdbext debug`")
    if facts.python is None:
        return Finding("gdb", "missing", f"{path}: {facts.version} was built without Python")
    if facts.missing:
        return Finding("gdb", "missing", f"{path}: cannot load the commands: {facts.missing[0]}")
    return Finding("gdb", "ok", f"{facts.version} at {path}, Python {facts.python}")


def _dot() -> Finding:
    found = shutil.which("dot")
    if found:
        return Finding("graphviz", "ok", found)
    return Finding(
        "graphviz", "optional", "dot not found; call graphs stay text (package graphviz)"
    )


def _runtime() -> Finding:
    root = runtime_root()
    running = len(discover())
    left = sum(1 for _ in root.iterdir()) - running if root.is_dir() else 0
    old = f", {left} left by ended QEMUs (may be removed)" if left > 0 else ""
    return Finding("sessions", "ok", f"{running} running below {root}{old}")
