# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files count, and what they are called."""

from __future__ import annotations

import pytest

from gdbext.coverage.filters import FileFilter


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("heap.c", "/build/src/heap.c", True),
        ("heap.c", "/build/src/myheap.c", False),
        ("heap.*", "/build/heap.c/main.c", False),
        ("src/*.c", "/build/src/heap.c", True),
        ("src/*.c", "src/heap.c", True),
        ("src/*.c", "/build/mysrc/heap.c", False),
        ("/build/*", "/build/src/heap.c", True),
        ("/build/*", "/home/build/heap.c", False),
        ("*/drivers/*", "/build/drivers/uart/tx.c", True),
    ],
)
def test_patterns_are_of_names_ends_and_whole_paths(pattern: str, path: str, fits: bool) -> None:
    assert FileFilter(include=(pattern,)).takes(path) == fits
    assert FileFilter(exclude=(pattern,)).takes(path) == (not fits)


@pytest.mark.parametrize(
    "path",
    [
        "/usr/include/stdint.h",
        "/build/newlib/libc/string/memcpy.c",
        "/build/gcc/libgcc/config/arm/lib1funcs.S",
        "/opt/arm/lib/gcc/arm-none-eabi/12.2/include/stdarg.h",
        "/rustc/90b35a6/library/core/src/fmt/mod.rs",
    ],
)
def test_files_of_compilers_and_libraries_count_only_when_asked_for(path: str) -> None:
    assert not FileFilter().takes(path)
    assert FileFilter(everything=True).takes(path)
    assert FileFilter(include=("*" + path[-12:],)).takes(path)


def test_folders_that_are_only_named_as_a_library_count() -> None:
    assert FileFilter().takes("/home/me/newlib/main.c")
    assert FileFilter().takes("/home/me/usr/main.c")


def test_paths_lose_dots_and_get_the_first_fitting_beginning() -> None:
    names = FileFilter(renames=(("/build/fw/", "/home/me/fw"), ("/build", "/other")))

    assert names.path("/build/fw/./src/../main.c") == "/home/me/fw/main.c"
    assert names.path("/build/lib/a.c") == "/other/lib/a.c"
    assert names.path("/builder/a.c") == "/builder/a.c"
