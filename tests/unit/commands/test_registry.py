# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of commands: parsing, help, and the documentation made from it."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from gdbext.commands._options import count, seconds
from gdbext.commands._reference import reference
from gdbext.commands.context import Door
from gdbext.commands.registry import Command, commands, find_command
from gdbext.errors import UsageError

ROOT = Path(__file__).parents[3]
DOORS: tuple[Door, ...] = ("cli", "gdb")
EVERY = [(door, made) for door in DOORS for made in commands(door)]


@pytest.mark.parametrize(("door", "made"), EVERY, ids=lambda item: getattr(item, "name", item))
def test_help_has_gdbs_form(door: Door, made: Command) -> None:
    lines = made.help_text(door).splitlines()

    assert lines[0][0].isupper() and lines[0].endswith(".")
    assert lines[1].startswith(("Usage: trace ", "Usage: gdbext "))
    assert all(len(line) <= 100 for line in lines)


def test_documentation_is_that_of_the_registry() -> None:
    written = (ROOT / "docs" / "commands.md").read_text()

    assert written == reference(), "run: python -m gdbext.commands._reference > docs/commands.md"


def test_verbs_of_both_doors() -> None:
    assert {made.name for made in commands("gdb")} >= {
        *("start", "stop", "status", "clear", "dump", "load", "analyze", "callers", "last")
    }
    assert {made.name for made in commands("cli")} >= {
        *("doctor", "boards", "debug", "record", "analyze", "callers", "dump", "qemu-args")
    }


def test_words_become_options() -> None:
    made = find_command("analyze", "gdb")
    assert made is not None

    options = made.parse(["--function=f.c:g", "--top", "2k", "--json"], "gdb")

    assert (options.function, options.top, options.json) == ("f.c:g", 2000, True)
    assert options.file is None, "an argument of the other door is there, and not given"


def test_words_after_two_dashes_are_qemus() -> None:
    made = find_command("record", "cli")
    assert made is not None

    words = ["a.elf", "--board", "b", "-o", "f", "--", "-icount", "shift=5", "--", "-S"]
    options = made.parse(words, "cli")

    assert options.qemu_args == ["-icount", "shift=5", "--", "-S"]


def test_words_after_gdb_are_gdbs_up_to_qemus() -> None:
    made = find_command("debug", "cli")
    assert made is not None

    words = ["a.elf", "--board", "b", "--gdb", "-x", "f", "--board", "--", "-S", "--gdb"]
    options = made.parse(words, "cli")

    assert (options.board, options.gdb) == ("b", ["-x", "f", "--board"])
    assert options.qemu_args == ["-S", "--gdb"]
    assert made.parse(["a.elf"], "cli").gdb == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--funktion", "f"], "trace analyze: unrecognized arguments: --funktion f; see `help "),
        (["--top", "0"], "'0' is no count"),
        (["--top"], "expected one argument"),
        (["--func", "f"], "unrecognized"),
        (["extra"], "unrecognized arguments: extra"),
    ],
)
def test_wrong_words_are_one_line_that_names_the_help(words: list[str], message: str) -> None:
    made = find_command("analyze", "gdb")
    assert made is not None

    with pytest.raises(UsageError) as raised:
        made.parse(words, "gdb")

    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("20k", 20_000), ("1.5M", 1_500_000), ("1_000", 1000), ("2G", 2 * 10**9)],
)
def test_counts(text: str, value: int) -> None:
    assert count(text) == value


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "k", "", "1K", "0x10", "1e6"])
def test_no_counts(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no count"):
        count(text)


@pytest.mark.parametrize(("text", "value"), [("90", 90), ("1.5", 1.5), ("2m", 120), ("1h", 3600)])
def test_seconds(text: str, value: float) -> None:
    assert seconds(text) == value
