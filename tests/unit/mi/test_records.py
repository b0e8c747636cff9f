# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of GDB's machine interface, as GDB 13 writes them, and what is no such line."""

from __future__ import annotations

import pytest

from gdbext.mi.breakpoints import BreakpointTable
from gdbext.mi.records import Record, parse_record, quoted
from gdbext.mi.stops import stop_of

CREATED = (
    b'=breakpoint-created,bkpt={number="%d",type="%s",disp="%s",enabled="%s",%s'
    b'times="0",original-location="%s"}'
)


def test_result_has_its_token_and_fields() -> None:
    record = parse_record(b'12^done,value="0x20 <vectors+32>"')

    assert record == Record("result", 12, "done", fields={"value": "0x20 <vectors+32>"})


def test_escapes_of_the_console_are_undone() -> None:
    assert parse_record(rb'~"a \"b\"\tc\n"').text == 'a "b"\tc\n'


def test_lists_of_commands_in_wrong_brackets_are_read() -> None:
    record = parse_record(rb'3^done,bkpt={number="1",script={"print \"x\"","continue"}}')

    assert record.fields["bkpt"]["script"] == ['print "x"', "continue"]


@pytest.mark.parametrize(
    "line", [b'=x,y={a="1"', b"*stopped,reason=[", b'^done,a="', b"plain", b"\xff\xfe", b"", b"^"]
)
def test_lines_that_are_no_records_are_output(line: bytes) -> None:
    assert parse_record(line).kind == "output"


def test_every_cut_of_a_record_is_read_without_end_or_error() -> None:
    line = b'5^done,bkpt={number="1",script={"a","b"},thread-groups=["i1"],cond="x > \\"3\\""}'

    kinds = {parse_record(line[:size]).kind for size in range(len(line) + 1)}

    assert kinds <= {"result", "output"}


def test_quoted_text_comes_back_from_the_parser() -> None:
    text = 'print "a\\n"\t\\'

    assert parse_record(b"~" + quoted(text).encode()).text == text


def test_stop_at_a_breakpoint() -> None:
    record = parse_record(
        b'*stopped,reason="breakpoint-hit",disp="keep",bkptno="1",frame={addr="0x000005f4",'
        b'func="main",args=[],file="demo/main.c",line="112",arch="armv7"},thread-id="1"'
    )

    stop = stop_of(record.fields)

    assert (stop.address, stop.function, stop.line, stop.breakpoint) == (0x5F4, "main", 112, 1)
    assert stop.describe() == "breakpoint-hit 1 in main at demo/main.c:112"


def test_exit_code_is_octal() -> None:
    assert stop_of({"reason": "exited", "exit-code": "013"}).exit_status == 11
    assert stop_of({"reason": "exited-normally"}).exit_status == 0


@pytest.mark.parametrize(
    ("kind", "disp", "enabled", "more", "where", "commands"),
    [
        (b"breakpoint", b"keep", b"y", b"", b"main", ["break main"]),
        (b"breakpoint", b"del", b"y", b'cond="i > 3",', b"a.c:7", ["tbreak a.c:7 if i > 3"]),
        (b"hw breakpoint", b"keep", b"n", b"", b"f", ["hbreak f", "disable $bpnum"]),
        (b"hw watchpoint", b"keep", b"y", b'ignore="2",', b"x", ["watch x", "ignore $bpnum 2"]),
        (b"acc watchpoint", b"keep", b"y", b"", b"x", ["awatch x"]),
        (
            *(b"breakpoint", b"keep", b"y", b'script={"bt"},', b"f"),
            ["break f", "commands $bpnum", "bt", "end"],
        ),
    ],
)
def test_breakpoint_becomes_the_commands_that_set_it(
    kind: bytes, disp: bytes, enabled: bytes, more: bytes, where: bytes, commands: list[str]
) -> None:
    table = BreakpointTable()

    table.take(parse_record(CREATED % (4, kind, disp, enabled, more, where)).fields)

    assert [each.number for each in table.all()] == [4]
    assert table.all()[0].commands() == commands


def test_deleted_breakpoints_are_forgotten() -> None:
    table = BreakpointTable()
    table.take({"bkpt": {"number": "1", "type": "breakpoint", "original-location": "f"}})

    table.remove("1")

    assert len(table) == 0
