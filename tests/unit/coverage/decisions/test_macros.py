# SPDX-License-Identifier: GPL-2.0-or-later
"""Which macros may hide operators of decisions."""

from __future__ import annotations

from gdbext.coverage.decisions.macros import MacroReader, Macros

KNOWN = frozenset(("n", "port", "uint32_t", "ready"))


def macros(files: dict[str, str], folders: tuple[str, ...] = ()) -> Macros:
    """Those of main.c and what it includes."""
    return MacroReader(folders, lambda path: files.get(path, "").splitlines()).read("/p/src/main.c")


def test_plain_bodies_are_numbers_known_names_and_other_plain_macros() -> None:
    found = macros(
        {
            "/p/src/main.c": "#define A 1\n#define B ((uint32_t)A << 3) /* && */\n"
            "#define C(x) (port[x] & B)\n#define D (C(1) && A)\n#define E D\n"
            "#define F other\n#define G(a, b) a ## b\n#define H(x) \\\n ((x) ? 1 : 0)\n"
            '#define I "a && b"\n'
        }
    )

    assert [name for name in "ABCDEFGHI" if found.is_plain(name, KNOWN)] == list("ABCI")
    assert found.hides_operators("E", KNOWN)
    assert not found.hides_operators("unknown", KNOWN)
    assert not found.is_plain("unknown", KNOWN)
    assert found.is_plain("ready", KNOWN)


def test_headers_are_found_beside_their_file_and_in_folders() -> None:
    found = macros(
        {
            "/p/src/main.c": '#include "one.h"\n#include <lib/two.h>\n',
            "/p/src/one.h": '#include "../inc/three.h"\n#include "one.h"\n',
            "/p/inc/three.h": "#define THREE 3\n",
            "/q/include/lib/two.h": "#define TWO(x) ((x) || n)\n",
        },
        ("/q", "/q/include"),
    )

    assert found.is_plain("THREE", KNOWN)
    assert found.hides_operators("TWO", KNOWN)


def test_one_of_several_definitions_is_enough_to_hide() -> None:
    found = macros(
        {"/p/src/main.c": "#if X\n#define R(x) (x)\n#else\n#define R(x) ((x) && n)\n#endif\n"}
    )

    assert found.hides_operators("R", KNOWN)


def test_a_macro_that_goes_round_ends() -> None:
    found = macros({"/p/src/main.c": "#define A B\n#define B A\n#define C C\n"})

    assert not found.is_plain("A", KNOWN)
    assert found.is_plain("C", KNOWN)
