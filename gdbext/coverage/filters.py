# SPDX-License-Identifier: GPL-2.0-or-later
"""Which source files count, and what their paths are called."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

__all__ = ["FOREIGN_FILES", "FileFilter"]

FOREIGN_FILES: Final = (
    "/usr/*",
    "*/lib/gcc/*",
    "*/libgcc/*",
    "*/libstdc++-v3/*",
    "*/newlib/libc/*",
    "*/newlib/libm/*",
    "*/libgloss/*",
    "*/picolibc/*",
    "*/compiler-rt/*",
    "*/include/c++/*",
    "/rustc/*",
    "*/lib/rustlib/*",
    "*/.cargo/registry/*",
    "<built-in>",
    "<artificial>",
)
"""Files of compilers and their libraries, as patterns."""


@dataclass(frozen=True)
class FileFilter:
    """Renames and selects source files.

    A pattern is a shell's, of the whole path; one without `/` is of the name alone, and one that
    does not begin with `/` or `*` of the path's end.
    """

    include: tuple[str, ...] = ()
    """Only these; empty: all that are not left out."""
    exclude: tuple[str, ...] = ()
    """Not these."""
    renames: tuple[tuple[str, str], ...] = ()
    """Beginnings of paths and what stands for them here; the first that fits."""
    everything: bool = False
    """Files of compilers and their libraries too, and code without a file."""

    def unfiltered(self) -> FileFilter:
        """The same names, and every file."""
        return FileFilter(renames=self.renames, everything=True)

    def path(self, recorded: str) -> str:
        """The path of a file as the debug information has it, without `.` and `..`, renamed."""
        path = posixpath.normpath(recorded)
        for old, new in self.renames:
            old = posixpath.normpath(old)
            if path == old or path.startswith(old.rstrip("/") + "/"):
                return posixpath.normpath(new + path[len(old.rstrip("/")) :])
        return path

    def takes(self, path: str) -> bool:
        """Whether the file of this (renamed) path counts."""
        if any(matches(path, pattern) for pattern in self.exclude):
            return False
        if self.include:
            return any(matches(path, pattern) for pattern in self.include)
        return self.everything or not any(matches(path, pattern) for pattern in FOREIGN_FILES)


def matches(path: str, pattern: str) -> bool:
    """Whether the pattern is of this path."""
    if "/" not in pattern:
        return fnmatchcase(posixpath.basename(path), pattern)
    if pattern[0] in "/*":
        return fnmatchcase(path, pattern)
    return fnmatchcase("/" + path, "*/" + pattern)
