# SPDX-License-Identifier: GPL-2.0-or-later
"""run: scripted debugging sessions."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gdbext.commands._options import count
from gdbext.commands._signals import orderly_end
from gdbext.commands.registry import Argument, command
from gdbext.errors import ConfigError, GdbextError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from gdbext.commands.context import Context
    from gdbext.session.model import Case
    from gdbext.session.runner import CaseResult

_ARTIFACTS = Path("gdbext-artifacts")


@command(
    "run",
    "Run scripted debugging sessions.",
    description=(
        "docs/sessions.md has the keys of a session file. The exit status is 0 if everything that\n"
        "was expected holds, 1 if something does not, 2 if a session could not run. With --check\n"
        "the files are read and nothing is run; --schema prints their JSON schema for editors."
    ),
    arguments=[
        Argument("SESSION", "Session files (YAML).", parse=Path, many=True, optional=True),
        Argument("-j", "Cases to run at a time (default 1).", metavar="N", parse=count),
        Argument(
            "--junit",
            "Write a report in JUnit's XML.",
            metavar="FILE",
            parse=Path,
            completes="file",
        ),
        Argument(
            "--artifacts",
            "Folder for consoles, recordings and reports (default gdbext-artifacts).",
            metavar="DIR",
            parse=Path,
            completes="file",
        ),
        Argument("--check", "Read the files only."),
        Argument("--schema", "Print the JSON schema of session files."),
        Argument("--quiet", "Tell only what did not pass."),
    ],
    doors=["cli"],
)
def run(context: Context, options: argparse.Namespace) -> int:
    """Run every case of every file; the exit status."""
    # Only now: other commands do without YAML and GDB.
    from gdbext.session.keys import json_schema
    from gdbext.session.runner import run_cases

    if options.schema:
        context.page.line(json.dumps(json_schema(), indent=2))
        return 0
    if not options.session:
        raise UsageError("run: give a session file; see `gdbext run --help`")
    started = time.monotonic()
    planned, broken = _planned(options.session, options.artifacts or _ARTIFACTS)
    results: list[CaseResult] = list(broken)
    for failed in broken:
        _tell(context, failed, quiet=options.quiet)
    if options.check:
        if not broken:
            cases, files = _plural(len(planned), "case"), _plural(len(options.session), "file")
            context.page.line(f"{cases} in {files}: nothing is wrong")
        return 2 if broken else 0
    with orderly_end():
        for result in run_cases(planned, options.j or 1):
            results.append(result)
            _tell(context, result, quiet=options.quiet)
    if options.junit is not None:
        _write_junit(options.junit, results)
    _tell_totals(context, results, time.monotonic() - started, quiet=options.quiet)
    verdicts = {result.verdict for result in results}
    return 2 if "error" in verdicts else 1 if "failed" in verdicts else 0


def _planned(
    files: Sequence[Path], artifacts: Path
) -> tuple[list[tuple[Case, Path]], list[CaseResult]]:
    """The cases with their folders, and a result for each file that is wrong."""
    from gdbext.session.model import read_session
    from gdbext.session.runner import CaseResult

    planned: list[tuple[Case, Path]] = []
    broken: list[CaseResult] = []
    folders: set[Path] = set()
    for path in files:
        try:
            cases = read_session(path)
        except ConfigError as error:
            broken.append(CaseResult(path.stem, "", str(path), "error", 0.0, str(error)))
            continue
        for case in cases:
            folder = artifacts / _plain(case.name)
            if case.label:
                folder = folder / _plain(case.label)
            planned.append((case, _unused(folder, folders)))
    return planned, broken


def _plain(text: str) -> str:
    """The text as a folder's name."""
    plain = "".join(letter if letter.isalnum() or letter in "._=+-" else "-" for letter in text)
    return plain.strip(".")[:100] or "session"


def _unused(folder: Path, taken: set[Path]) -> Path:
    """The folder, or one with a number if two cases have the same name."""
    candidates: Iterator[Path] = (
        folder.with_name(f"{folder.name}-{n}") if n > 1 else folder for n in range(1, 1 << 30)
    )
    free = next(candidate for candidate in candidates if candidate not in taken)
    taken.add(free)
    return free


def _tell(context: Context, result: CaseResult, *, quiet: bool) -> None:
    word = {"passed": "PASS", "failed": "FAIL", "error": "ERROR"}[result.verdict]
    if result.verdict != "passed":
        context.page.line(f"{word:5} {result.title}: {result.message}")
        if result.console_tail:
            lines = result.console_tail.splitlines()[-3:]
            context.page.text("".join(f"      console: {line}\n" for line in lines))
        if result.artifacts:
            context.page.line(f"      files: {result.artifacts}")
    elif not quiet:
        context.page.line(f"{word:5} {result.title} ({result.time_s:.1f} s)")
    sys.stdout.flush()


def _tell_totals(
    context: Context, results: Sequence[CaseResult], time_s: float, *, quiet: bool
) -> None:
    if quiet or len(results) < 2:
        return
    parts = [
        f"{sum(result.verdict == verdict for result in results)} {word}"
        for verdict, word in (("passed", "passed"), ("failed", "failed"), ("error", "not run"))
        if any(result.verdict == verdict for result in results)
    ]
    context.page.line(f"{', '.join(parts)} in {time_s:.1f} s")


def _write_junit(path: Path, results: Sequence[CaseResult]) -> None:
    from gdbext.session.junit import junit_xml

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        partial.write_text(junit_xml(results))
        partial.replace(path)
    except OSError as error:
        raise GdbextError(f"{path}: cannot be written: {error.strerror}") from error


def _plural(n: int, what: str) -> str:
    return f"1 {what}" if n == 1 else f"{n} {what}s"
