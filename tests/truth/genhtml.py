# SPDX-License-Identifier: GPL-2.0-or-later
"""What lcov's genhtml understands of a trace file, read back from the pages it writes."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

__all__ = ["Page", "Report", "genhtml"]

_LINE = re.compile(
    r'<span class="lineNum"> *(\d+) </span>(.*?):<span class="line(No)?Cov"> *(\d+) :'
)
_BRANCH = re.compile(r'title="Branch (\d+) was (?:not (taken|executed)|taken (\d+) times?)"')
_TOTAL = re.compile(r"(lines|functions|branches)\.*: (?:no data found|.*\((\d+) of (\d+) )")


@dataclass
class Page:
    """One source file."""

    lines: dict[int, int] = field(default_factory=dict)
    """Count of each line that has code."""
    branches: dict[int, list[int | None]] = field(default_factory=dict)
    """Counts of a line's branches as they are shown; None: never executed."""


@dataclass
class Report:
    """All pages."""

    totals: dict[str, tuple[int, int]]
    """Hit and found, of lines, functions and branches."""
    pages: dict[str, Page]
    """By the end of the source's path; empty of genhtml 2, whose pages are not read."""
    functions: dict[str, list[int]]
    """Hit counts by name, of all files."""


def genhtml(trace: Path, folder: Path) -> Report:
    """Run genhtml; skips without it. A warning of genhtml 1 is a failure."""
    tool = shutil.which("genhtml")
    if tool is None:
        pytest.skip("genhtml is not installed (Debian's package lcov)")
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    old = "version 1." in version
    rules = [] if old else ["--rc", "check_data_consistency=0"]
    done = subprocess.run(
        [tool, "--branch-coverage", "--function-coverage", *rules, "-o", folder, trace],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not old or not done.stderr, done.stderr
    totals = {m[1]: (int(m[2] or 0), int(m[3] or 0)) for m in _TOTAL.finditer(done.stdout)}
    if not old:
        return Report(totals, {}, {})
    pages = {
        str(path.relative_to(folder)).removesuffix(".gcov.html"): _page(path)
        for path in folder.rglob("*.gcov.html")
    }
    functions: dict[str, list[int]] = {}
    for path in folder.rglob("*.func.html"):
        text = path.read_text(errors="replace")
        for name, count in re.findall(
            r'<td class="coverFn"><a [^>]*>(.*?)</a></td>\s*<td class="coverFn(?:Hi|Lo)">(\d+)<',
            text,
        ):
            functions.setdefault(html.unescape(name), []).append(int(count))
    return Report(totals, pages, functions)


def _page(path: Path) -> Page:
    page = Page()
    line = 0
    for row in path.read_text(errors="replace").splitlines():
        found = _LINE.search(row)
        if found:
            line = int(found[1])
            page.lines[line] = int(found[4])
        # A row without number goes on with the branches of the line above.
        elif not row.startswith('<span class="lineNum">    '):
            continue
        branches = [
            None if way == "executed" else int(count or 0) for _, way, count in _BRANCH.findall(row)
        ]
        if branches:
            page.branches.setdefault(line, []).extend(branches)
    return page
