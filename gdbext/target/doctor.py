# SPDX-License-Identifier: GPL-2.0-or-later
"""What this machine has of all that gdbext needs: found, missing or degraded, and how to mend it.

`examine` looks and changes nothing; `render` says it for people.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import gdbext
from gdbext import nativelib
from gdbext.errors import GdbextError, NativeError, TargetError
from gdbext.target import qemu_binary
from gdbext.target.boards import Board, boards
from gdbext.target.qemu_binary import FAMILIES, Family, QemuBinary

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Gdb", "Native", "Problem", "Qemu", "Report", "Tool", "examine", "render"]

GDB_NAMES: Final = ("gdb-multiarch", "gdb")

PACKAGES: Final = (
    "capstone",
    "demangle",
    "elftools",
    "graphviz",
    "prompt_toolkit",
    "pygdbmi",
    "rich",
    "yaml",
)
"""The packages that gdbext imports, by the name of their top module."""

OPTIONAL_TOOLS: Final = (
    ("dot", "graphviz", "pictures of call graphs"),
    ("gcovr", "gcovr", "coverage as web pages, for Cobertura and others"),
    ("genhtml", "lcov", "coverage as web pages"),
)

_GDB_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True)
class Qemu:
    """A QEMU program that a board names."""

    name: str
    boards: tuple[str, ...]
    """The boards that need it."""
    found: QemuBinary | None
    problem: str | None
    """Why it cannot be used; one line."""


@dataclass(frozen=True)
class Gdb:
    """A GDB on this machine."""

    name: str
    path: Path
    version: str | None
    python: str | None
    """Version of the Python inside it; None if it has none."""
    not_importable: tuple[str, ...] = ()
    """Packages of ours that its Python cannot import from where this Python has them."""
    problem: str | None = None
    """Why it cannot be used; one line."""


@dataclass(frozen=True)
class Native:
    """One of the compiled parts."""

    name: str
    path: Path
    problem: str | None
    """Why it cannot be used; one line."""


@dataclass(frozen=True)
class Tool:
    """A program of others that some command can use."""

    name: str
    path: Path | None
    package: str
    """The Debian package that holds it."""
    purpose: str


@dataclass(frozen=True)
class Problem:
    """Something that does not work, or not well."""

    fatal: bool
    """Nothing can be recorded, or nothing analysed, until it is mended."""
    what: str
    mend: str
    """What to do; a sentence's second half."""


@dataclass(frozen=True)
class Report:
    """All that was found."""

    gdbext_version: str
    python_version: str
    python_path: Path
    qemus: tuple[Qemu, ...]
    gdbs: tuple[Gdb, ...]
    natives: tuple[Native, ...]
    tools: tuple[Tool, ...]
    problems: tuple[Problem, ...]

    @property
    def works(self) -> bool:
        """Recording and analysing work, with at least one board."""
        return not any(problem.fatal for problem in self.problems)


def examine() -> Report:
    """Look at this machine.

    Raises:
        ConfigError: a board's file is wrong.
    """
    qemus = tuple(_examine_qemus(boards()))
    gdbs = tuple(_examine_gdbs())
    natives = tuple(_examine_natives())
    tools = tuple(
        Tool(name, Path(path) if (path := _found(name)) else None, package, purpose)
        for name, package, purpose in OPTIONAL_TOOLS
    )
    return Report(
        gdbext_version=gdbext.__version__,
        python_version=platform.python_version(),
        python_path=Path(sys.executable),
        qemus=qemus,
        gdbs=gdbs,
        natives=natives,
        tools=tools,
        problems=(
            *_qemu_problems(qemus),
            *_gdb_problems(gdbs),
            *_native_problems(natives, qemus),
            *(
                Problem(
                    False, f"{tool.name} not found: no {tool.purpose}", f"install {tool.package}"
                )
                for tool in tools
                if tool.path is None
            ),
        ),
    )


def render(report: Report) -> str:
    """The report for people: what was found, then what is degraded and how to mend it."""
    lines = [
        f"gdbext {report.gdbext_version}, Python {report.python_version} ({report.python_path})",
        "",
        "QEMU",
    ]
    lines += _table(
        (
            qemu.name,
            qemu.found.version_text if qemu.found else "-",
            f"plugin API {qemu.found.family}" if qemu.found else "-",
            str(qemu.found.path) if qemu.found else "not usable",
            f"({', '.join(qemu.boards)})",
        )
        for qemu in report.qemus
    )
    lines += ["", "GDB"]
    lines += _table(
        (
            gdb.name,
            gdb.version or "-",
            f"Python {gdb.python}" if gdb.python else "no Python",
            str(gdb.path),
        )
        for gdb in report.gdbs
    ) or ["  none"]
    lines += ["", "Compiled parts"]
    lines += _table(
        (native.name, "not usable" if native.problem else "ready") for native in report.natives
    )
    lines += ["", "Other tools"]
    lines += _table(
        (tool.name, str(tool.path) if tool.path else "not found", f"({tool.purpose})")
        for tool in report.tools
    )
    lines.append("")
    if not report.problems:
        return "\n".join([*lines, "Nothing is missing."])
    lines.append("To mend")
    for problem in sorted(report.problems, key=lambda problem: not problem.fatal):
        lines.append(f"  {'needed' if problem.fatal else 'better'}: {problem.what}; {problem.mend}")
    return "\n".join(lines)


def _examine_qemus(all_boards: list[Board]) -> list[Qemu]:
    users: dict[str, list[str]] = {}
    for board in all_boards:
        users.setdefault(board.qemu, []).append(board.name)
    found = []
    for name, names in sorted(users.items()):
        try:
            found.append(Qemu(name, tuple(names), qemu_binary.find(name), None))
        except TargetError as error:
            found.append(Qemu(name, tuple(names), None, str(error)))
    return found


def _qemu_problems(qemus: tuple[Qemu, ...]) -> list[Problem]:
    none_works = all(qemu.found is None for qemu in qemus)
    problems = [
        Problem(none_works, *_split(qemu.problem, f"boards {', '.join(qemu.boards)} need it"))
        for qemu in qemus
        if qemu.problem
    ]
    old = sorted({q.found.version_text for q in qemus if q.found and q.found.family == "v1"})
    if old:
        problems.append(
            Problem(
                False,
                f"QEMU {', '.join(old)} has plugin API v1: recording costs more there, and several"
                " vCPUs take turns in one thread",
                "QEMU 9.0 or later has neither limit (GDBEXT_QEMU_DIR names its folder)",
            )
        )
    return problems


_PROBE = """
import json, sys
try:
    import site
    import importlib
    for folder in FOLDERS:
        site.addsitedir(folder)
    failed = []
    for name in PACKAGES:
        try:
            importlib.import_module(name)
        except ImportError:
            failed.append(name)
finally:
    print("gdbext-doctor " + json.dumps(["%d.%d.%d" % sys.version_info[:3], failed]))
"""


def _found(name: str) -> str | None:
    """A tool on PATH, or one that is installed beside this Python."""
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.prefix, "bin")))


def _examine_gdbs() -> list[Gdb]:
    wanted = os.environ.get("GDB")
    found = []
    for name in dict.fromkeys((*([wanted] if wanted else []), *GDB_NAMES)):
        path = shutil.which(name)
        if path is not None:
            found.append(_examine_gdb(name, Path(path)))
    return found


def _examine_gdb(name: str, path: Path) -> Gdb:
    folders = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    source = _PROBE.replace("FOLDERS", repr(folders)).replace("PACKAGES", repr(PACKAGES))
    command = [str(path), "-nx", "-q", "-batch", "-ex", "show version"]
    command += ["-ex", f"python exec({source!r})"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_GDB_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Gdb(name, path, None, None, problem=f"{path}: does not run: {error}")
    output = done.stdout.decode(errors="replace")
    version = re.search(r"^GNU gdb .*?(\d+\.\d+\S*)\s*$", output, re.MULTILINE)
    number = version.group(1) if version else None
    answer = re.search(r"^gdbext-doctor (.*)$", output, re.MULTILINE)
    if answer is None:
        return Gdb(name, path, number, None, problem=f"{path}: has no Python inside")
    python, failed = json.loads(answer.group(1))
    return Gdb(name, path, number, python, tuple(failed))


def _gdb_problems(gdbs: tuple[Gdb, ...]) -> list[Problem]:
    if not gdbs:
        return [Problem(True, "no GDB found", "install gdb-multiarch")]
    problems = []
    for gdb in gdbs:
        # The others matter only to somebody who starts them.
        first = gdb is gdbs[0]
        if gdb.problem:
            problems.append(Problem(first, gdb.problem, "install gdb-multiarch"))
        elif gdb.not_importable:
            problems.append(
                Problem(
                    first,
                    f"{gdb.path}: its Python {gdb.python} cannot import"
                    f" {', '.join(gdb.not_importable)}",
                    f"install gdbext with Python {_minor(gdb.python)} ('make setup' does)",
                )
            )
    return problems


def _minor(python: str | None) -> str:
    return ".".join((python or "").split(".")[:2])


def _examine_natives() -> list[Native]:
    natives = [_library()]
    for family in FAMILIES:
        name = f"plugin for API {family}"
        try:
            natives.append(Native(name, qemu_binary.plugin_path(family), None))
        except NativeError as error:
            natives.append(Native(name, nativelib.NATIVE_DIRECTORY, str(error)))
    return natives


def _library() -> Native:
    path = nativelib.LIBRARY_PATH
    try:
        nativelib.load(path)
    except GdbextError as error:
        return Native("replay library", path, str(error))
    return Native("replay library", path, None)


def _native_problems(natives: tuple[Native, ...], qemus: tuple[Qemu, ...]) -> list[Problem]:
    used: set[Family] = {qemu.found.family for qemu in qemus if qemu.found}
    needed = {"replay library", *(f"plugin for API {family}" for family in used)}
    return [
        Problem(native.name in needed, *_split(native.problem, "'make plugin' builds it"))
        for native in natives
        if native.problem
    ]


def _split(text: str, otherwise: str) -> tuple[str, str]:
    """An error's one line, as what is wrong and what to do."""
    what, _, mend = text.partition("; ")
    return what, mend or otherwise


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Lines with aligned columns, two blanks before each."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append(f"  {'  '.join(padded)}".rstrip())
    return lines
