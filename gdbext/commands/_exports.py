# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage by source line in formats of other tools: what `export` and `merge` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from gdbext.files import write_whole
from gdbext.render.numbers import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from gdbext.coverage.model import Coverage
    from gdbext.symbols import Symbols

__all__ = ["LINE_FORMATS", "Exported", "export_lines", "export_tests", "put"]


class Exported(NamedTuple):
    """A file's content, what is in it, and remarks on what is not."""

    content: bytes
    holds: str
    remarks: list[str]


def _lcov(coverage: Coverage, builds: list[Symbols]) -> str:
    # Only now, here and below: it loads much.
    from gdbext.exporters.functions import known_functions
    from gdbext.exporters.lcov import lcov

    return lcov(coverage, known_functions(*builds))


def _gcovr(coverage: Coverage, builds: list[Symbols]) -> str:
    from gdbext.exporters.functions import known_functions
    from gdbext.exporters.gcovr import gcovr_json
    from gdbext.exporters.report import gcovr_version

    return gcovr_json(coverage, known_functions(*builds), gcovr_version())


def _csv(coverage: Coverage, builds: list[Symbols]) -> str:
    from gdbext.exporters.table import lines_csv

    del builds
    return lines_csv(coverage)


LINE_FORMATS: Final[dict[str, tuple[str, Callable[[Coverage, list[Symbols]], str]]]] = {
    "lcov": ("lines, functions and branches for genhtml, lcov and editors", _lcov),
    "gcovr": ("the same for gcovr --add-tracefile: HTML, Cobertura, SonarQube, JaCoCo..", _gcovr),
    "csv": ("a row for each line", _csv),
}


def export_lines(name: str, coverage: Coverage, builds: list[Symbols]) -> Exported:
    """The file of a format of `LINE_FORMATS`, of one or more programs."""
    _, make = LINE_FORMATS[name]
    return _exported(make(coverage, builds), coverage)


def export_tests(
    tests: Iterable[tuple[str, Coverage]], whole: Coverage, build: Symbols
) -> Exported:
    """LCOV with a section for each of several recordings of one build.

    Args:
        tests: a recording's name, and what it covered alone.
    """
    from gdbext.exporters.functions import known_functions
    from gdbext.exporters.lcov import lcov, test_name

    known = known_functions(build)
    names: dict[str, int] = {}
    text = ""
    for recording, coverage in tests:
        name = test_name(recording)
        names[name] = names.get(name, 0) + 1
        text += lcov(coverage, known, name if names[name] == 1 else f"{name}_{names[name]}")
    return _exported(text, whole)


def _exported(text: str, coverage: Coverage) -> Exported:
    from gdbext.exporters.functions import left_out

    content = text.encode(errors="surrogateescape")
    files = counted(len(coverage.files), "file")
    lines = counted(sum(len(file.lines) for file in coverage.files), "line")
    return Exported(content, f"{files}, {lines}", left_out(coverage))


def put(path: Path, exported: Exported, say: Callable[[str], object]) -> None:
    """Write the file; say what is in it, and what is not.

    Raises:
        GdbextError: it cannot be written.
    """
    write_whole(path.expanduser(), exported.content)
    say(f"{path}: {exported.holds}")
    for remark in exported.remarks:
        say(remark)
