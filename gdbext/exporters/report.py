# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage as HTML pages, written by gcovr or genhtml, whichever is installed."""

from __future__ import annotations

import json
import os
import posixpath
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gdbext.errors import GdbextError, TargetError
from gdbext.exporters.gcovr import NEWEST_VERSION, gcovr_json
from gdbext.exporters.lcov import lcov

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdbext.coverage.model import Coverage, FileCoverage
    from gdbext.exporters.functions import KnownFunctions

__all__ = ["gcovr_version", "write_report"]

_INDEX: Final = "index.html"


def write_report(coverage: Coverage, known: KnownFunctions, folder: Path, title: str) -> str:
    """Write the pages below `folder`; the first is `index.html`. Returns the tool's name.

    The pages are made in another folder and moved when all are there; files of the same names are
    replaced, others stay.

    Args:
        known: what ELF files say of functions.

    Raises:
        TargetError: neither tool is installed, or it fails.
        GdbextError: the folder cannot be written.
    """
    gcovr, genhtml = _program("gcovr"), _program("genhtml")
    if gcovr is None and genhtml is None:
        raise TargetError(
            "an HTML report needs gcovr (pip install gcovr) or genhtml (Debian's package lcov); "
            "neither is installed"
        )
    folder = folder.absolute()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".gdbext-", dir=folder.parent) as made:
            work, pages = Path(made, "work"), Path(made, "pages")
            work.mkdir()
            pages.mkdir()
            if gcovr is not None:
                _run_gcovr(gcovr, coverage, known, work, pages, title)
            elif genhtml is not None:
                _run_genhtml(genhtml, coverage, known, work, pages, title)
            _move(pages, folder)
    except OSError as error:
        raise GdbextError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return "gcovr" if gcovr is not None else "genhtml"


def gcovr_version() -> str:
    """The version of the JSON format that the installed gcovr reads; the newest without one."""
    gcovr = _program("gcovr")
    if gcovr is None:
        return NEWEST_VERSION
    with tempfile.TemporaryDirectory() as empty:
        written = Path(empty, "empty.json")
        # Of an empty folder it writes a file without content, which names the version.
        _run([gcovr, "--root", empty, "--json", written], Path(empty))
        return str(json.loads(written.read_text())["gcovr/format_version"])


def _run_gcovr(
    program: Path,
    coverage: Coverage,
    known: KnownFunctions,
    work: Path,
    pages: Path,
    title: str,
) -> None:
    """gcovr wants all sources in one folder that is there: it gets one with links."""
    common = _common_folder([file.path for file in coverage.files])
    root = work / "root"
    root.mkdir()
    files = []
    for file in coverage.files:
        path = posixpath.relpath(file.path, common) if file.path.startswith("/") else file.path
        path = path.replace("../", "up/")
        link = root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        _provide(link, file)
        files.append(replace(file, path=path))
    trace = work / "trace.json"
    text = gcovr_json(replace(coverage, files=tuple(files)), known, gcovr_version())
    trace.write_text(text, errors="surrogateescape")
    words: list[str | Path] = [program, "--root", root, "--filter", ".*", "--add-tracefile", trace]
    words += ["--html-details", pages / _INDEX, "--html-title", title]
    _run(words, work)


def _provide(link: Path, file: FileCoverage) -> None:
    """Make the source file readable at `link`; what stands for a missing one says so."""
    source = Path(file.path).absolute()
    if os.path.lexists(link):  # a relative path that looks like another one
        return
    if source.is_file():
        link.symlink_to(source)
        return
    last = max((line.line for line in file.lines), default=1)
    link.write_text(f"{file.path}: not on this machine" + "\n" * last, errors="surrogateescape")


def _run_genhtml(
    program: Path,
    coverage: Coverage,
    known: KnownFunctions,
    work: Path,
    pages: Path,
    title: str,
) -> None:
    trace = work / "trace.info"
    trace.write_text(lcov(coverage, known), errors="surrogateescape")
    words: list[str | Path] = [program, "--quiet", "--branch-coverage", "--ignore-errors", "source"]
    if b"version 1." not in _run([program, "--version"], work):
        # Object code does not keep what lcov 2 expects of gcov's data; see docs/coverage.md.
        words += ["--rc", "check_data_consistency=0", "--synthesize-missing"]
    if shutil.which("c++filt"):
        words += ["--demangle-cpp"]
    words += ["--title", title, "--output-directory", pages, trace]
    _run(words, work)


def _run(words: Sequence[str | Path], folder: Path) -> bytes:
    """Run a tool to its end; what it wrote to standard output.

    Raises:
        TargetError: it failed; its error is told.
    """
    done = subprocess.run(
        words,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    if done.returncode:
        said = [row for row in done.stderr.decode(errors="replace").splitlines() if row.strip()]
        told = next((row for row in said if "ERROR" in row), said[0] if said else "")
        if any(row.startswith("Traceback ") for row in said):
            told = said[-1]
        raise TargetError(
            f"{Path(words[0]).name} failed with status {done.returncode}: {told.strip()}"
        )
    return done.stdout


def _program(name: str) -> Path | None:
    """A tool on PATH, or one installed with the packages of this Python (or GDB's)."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    folders = [Path(sys.prefix, "bin")]
    folders += [Path(p).parents[2] / "bin" for p in sys.path if p.endswith("/site-packages")]
    for folder in folders:
        if os.access(folder / name, os.X_OK):
            return folder / name
    return None


def _common_folder(paths: Sequence[str]) -> str:
    absolute = [posixpath.dirname(path) for path in paths if path.startswith("/")]
    return posixpath.commonpath(absolute) if absolute else "/"


def _move(pages: Path, folder: Path) -> None:
    """Move all files, that which leads to the others last."""
    files = [path for path in pages.rglob("*") if path.is_file()]
    for path in sorted(files, key=lambda path: path.name == _INDEX):
        place = folder / path.relative_to(pages)
        place.parent.mkdir(parents=True, exist_ok=True)
        path.replace(place)
