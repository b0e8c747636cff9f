# SPDX-License-Identifier: GPL-2.0-or-later
"""Exclusions: marks in the source, lists in YAML, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdbext.coverage.exclusions import Exclusions, read_list
from gdbext.errors import ConfigError

SOURCE = """\
int a;
panic(); // gdbext: exclude ends the program
/* gdbext: exclude-begin vendor code */
x();
y();
/* gdbext: exclude-end */
z();
# gdbext: exclude assembler too
""".splitlines()


def test_marks_exclude_their_line_or_the_lines_between() -> None:
    exclusions = Exclusions()

    reasons = exclusions.of_file("/a.c", range(1, 9), SOURCE)

    assert reasons == {
        2: "ends the program",
        4: "vendor code",
        5: "vendor code",
        8: "assembler too",
    }
    assert exclusions.notes == []


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("x(); // gdbext: exclude", "/a.c:1: exclusion without a reason"),
        ("// gdbext: exclude-end", "/a.c:1: exclude-end without exclude-begin"),
        ("// gdbext: exclude-begin why", "/a.c:1: exclude-begin without exclude-end"),
    ],
)
def test_marks_that_are_wrong_are_told(text: str, note: str) -> None:
    exclusions = Exclusions()

    exclusions.of_file("/a.c", [1], [text])

    assert exclusions.notes[0].startswith(note)


def test_lists_name_lines_files_and_functions(tmp_path: Path) -> None:
    path = tmp_path / "list.yaml"
    path.write_text(
        "- {file: src/a.c, lines: [3, 5-6], reason: r1}\n"
        "- {file: b.c, reason: r2}\n"
        "- {function: panic, reason: r3}\n"
        "- {file: gone.c, reason: r4}\n"
    )

    exclusions = Exclusions(read_list(path))

    assert exclusions.of_file("/src/a.c", range(1, 9), ()) == {3: "r1", 5: "r1", 6: "r1"}
    assert exclusions.of_file("/x/b.c", [7, 9], ()) == {7: "r2", 9: "r2"}
    assert [entry.function for entry in exclusions.functions()] == ["panic"]
    assert [entry.reason for entry in exclusions.unused()] == ["r3", "r4"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file: a.c", ":1: not a list"),
        ("- just words", ":1: an entry has keys"),
        ("- file: a.c", ":1: no reason"),
        ("- {reason: r}", ":1: give a file or a function"),
        ("- {file: a.c, function: f, reason: r}", ":1: give a file or a function"),
        ("- {file: a.c, lines: 9-3, reason: r}", ":1: lines: '9-3' is no line"),
        ("- {function: f, lines: 3, reason: r}", ":1: lines go with a file"),
        ("\n- {fil: a.c, reason: r}", ":2: unknown key 'fil'"),
        ("- {file: a.c\n", ": not YAML"),
    ],
)
def test_lists_that_are_wrong_are_refused_with_their_place(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "list.yaml"
    path.write_text(text)

    with pytest.raises(ConfigError) as caught:
        read_list(path)

    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_list_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_list(tmp_path / "none.yaml")
