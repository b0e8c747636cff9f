# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of the prompt: where commands end, how two speakers share a screen, colours."""

from __future__ import annotations

import io

import pytest

from gdbext.repl.blocks import Blocks, is_open
from gdbext.repl.lexer import coloured
from gdbext.repl.screen import Screen


def commands_of(text: str) -> list[str]:
    """The whole commands in a text."""
    blocks = Blocks()
    return [command for line in text.split("\n") if (command := blocks.add(line)) is not None]


def test_plain_lines_are_commands_of_their_own() -> None:
    assert commands_of("break main\ncontinue\nend") == ["break main", "continue", "end"]


def test_nested_blocks_end_with_their_own_end() -> None:
    block = "define f\n  if $x\n    print 1\n  else\n    print 2\n  end\nend"

    assert commands_of(block + "\nprint 3") == [block, "print 3"]


def test_in_python_only_end_counts() -> None:
    block = "python\nif True:\n    print(1)\nwhile False: pass\nend"

    assert commands_of(block + "\npython print(2)") == [block, "python print(2)"]


@pytest.mark.parametrize(
    ("text", "wants_more"),
    [
        ("commands 1", True),
        ("commands 1\nend", False),
        ("iffy", False),
        ("if 1\nwhile 2\nend", True),
        ("print 1", False),
        ("", False),
    ],
)
def test_more_lines_are_wanted_inside_a_block(text: str, wants_more: bool) -> None:
    assert is_open(text) is wants_more


def screen() -> tuple[Screen, io.StringIO]:
    """A screen without colours, and what it shows."""
    out = io.StringIO()
    return Screen(out, out), out


def test_lines_of_the_guest_are_marked_and_shown_whole() -> None:
    shown, out = screen()

    for piece in (b"rea", b"dy\nround ", b"1\n", b"half"):
        shown.guest(piece)
    before = out.getvalue()
    shown.flush_guest()

    assert before == "target| ready\ntarget| round 1\n"
    assert out.getvalue() == before + "target| half"


def test_speakers_never_share_a_line() -> None:
    shown, out = screen()
    shown.whole_lines = False

    shown.gdb("value = ")
    shown.guest(b"lo")
    shown.guest(b"gin: ")
    shown.gdb("4\n")
    shown.guest(b"ok\n")

    assert out.getvalue() == "value = \ntarget| login: \n4\ntarget| ok\n"


def test_letters_cut_between_pieces_are_put_together() -> None:
    shown, out = screen()

    for byte in "21 °C\n".encode():
        shown.guest(bytes([byte]))

    assert out.getvalue() == "target| 21 °C\n"


def test_escapes_of_the_guest_do_not_reach_the_terminal() -> None:
    shown, out = screen()

    shown.guest(b"\x1b[2Jgone\r\n")

    assert out.getvalue() == "target| ^[[2Jgone\n"


def test_console_of_its_own_gets_the_output_as_it_is() -> None:
    out, console = io.StringIO(), io.StringIO()
    shown = Screen(out, out, console=console)

    shown.guest(b"a\r\nb")

    assert (out.getvalue(), console.getvalue()) == ("", "a\r\nb")


@pytest.mark.parametrize(
    "line",
    ["trace callers malloc --top 3", "break f if $x > 0x10", 'print "a\\"b" + \'', "  !ls", ""],
)
def test_colours_change_no_letter(line: str) -> None:
    assert "".join(text for _, text, *_ in coloured(line)) == line


def test_words_are_told_apart_by_colour() -> None:
    styles = {text: style for style, text, *_ in coloured('trace last 20 --insn "x" $pc')}

    assert styles["trace"] == styles["last"] == "bold"
    assert len({styles[word] for word in ("20", "--insn", '"x"', "$pc", "trace")}) == 5
