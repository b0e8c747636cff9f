# SPDX-License-Identifier: GPL-2.0-or-later
"""GDB driven over its machine interface, with real QEMU: answers and stops; what dies is back."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gdbext.errors import DebuggerError, TargetError
from tests.support.firmware import counters, firmware_path
from tests.support.gdbext_cli import forever_elf, qemu_processes
from tests.support.mi_session import debug_session, soon
from tests.truth.binutils import symbols


@pytest.mark.parametrize("board", ["mps2-an385", "virt-rv64", "virt-aarch64", "vexpress-a9"])
def test_stops_at_a_breakpoint_and_ends_with_the_guests_output(
    board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elf = firmware_path("basic", board, "O2")
    with debug_session(elf, board, monkeypatch, tmp_path) as (session, heard):
        session.debugger.console("break round_trip")
        session.resume("continue")
        stop = session.wait_stop(soon())
        assert stop is not None
        assert (stop.reason, stop.function) == ("breakpoint-hit", "round_trip")

        session.debugger.console("delete")
        session.resume("continue")
        end = session.wait_stop(soon())
        assert end is not None and end.has_ended
        assert session.exit_status() == 0

    assert counters(heard.guest)["iterations"] == 60
    assert heard.stops[-1] == end
    assert qemu_processes(tmp_path) == []
    assert list((tmp_path / f"gdbext-{os.getuid()}").iterdir()) == []


def test_values_are_those_of_the_symbol_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elf = firmware_path("basic", "mps2-an385", "O2")
    with debug_session(elf, "mps2-an385", monkeypatch, tmp_path) as (session, _):
        value = session.debugger.evaluate("(unsigned long) &main")

        assert int(value) == symbols(elf, "arm")["main"]


def test_refused_commands_are_errors_with_gdbs_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elf = firmware_path("basic", "mps2-an385", "O2")
    with debug_session(elf, "mps2-an385", monkeypatch, tmp_path) as (session, _):
        with pytest.raises(DebuggerError, match='No symbol "nosuch" in current context'):
            session.debugger.console("print nosuch")
        with pytest.raises(DebuggerError, match='Undefined command: "nosuch"'):
            session.debugger.console("nosuch")

        assert session.debugger.evaluate("1 + 1") == "2"


def test_trace_commands_work_through_the_machine_interface(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elf = firmware_path("basic", "mps2-an385", "O2")
    session_of = debug_session(elf, "mps2-an385", monkeypatch, tmp_path, trace_commands=True)
    with session_of as (session, heard):
        session.debugger.console("trace start")
        session.resume("continue")
        session.wait_stop(soon())
        said = session.debugger.console("trace callers round_trip")

    assert f"called {counters(heard.guest)['iterations']} times" in said


@pytest.mark.parametrize("how", ["background", "foreground"])
def test_interrupt_stops_a_running_program(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with debug_session(forever_elf(tmp_path), "mps2-an385", monkeypatch, tmp_path) as (session, _):
        if how == "background":
            session.resume("continue")
        else:
            session.debugger.console("continue")
        assert session.wait_stop(time.monotonic() + 0.05) is None, "it runs for ever"

        stop = session.interrupt()

        assert stop is not None and stop.function == "count"
        assert int(session.debugger.evaluate("$r0")) > 0


def test_interrupt_reaches_a_command_that_gdb_is_busy_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with debug_session(forever_elf(tmp_path), "mps2-an385", monkeypatch, tmp_path) as (session, _):
        with pytest.raises(TargetError, match=r"no answer to `.*while 1.*` within 0\.2 s$"):
            session.debugger.console("python\nwhile 1: pass", 0.2)

        assert session.debugger.evaluate("2") == "2", "GDB lives"


def test_killed_gdb_is_told_and_comes_back_with_its_breakpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elf = firmware_path("basic", "mps2-an385", "O0")
    with debug_session(elf, "mps2-an385", monkeypatch, tmp_path) as (session, heard):
        session.debugger.console("break round_trip if $r0 == 7")
        session.debugger.console("break mix")
        session.debugger.console("disable 2")
        session.debugger.console("break main")
        session.resume("continue")
        session.wait_stop(soon())
        qemu = session.emulator.pid

        os.kill(session.debugger.pid, 9)
        with pytest.raises(TargetError, match="was ended by signal 9"):
            session.debugger.evaluate("1")
        assert session.restart() == []

        assert session.emulator.pid == qemu, "the guest went on living"
        session.resume("continue")
        stop = session.wait_stop(soon())
        assert stop is not None and stop.function == "round_trip", heard.text
        assert session.debugger.evaluate("$r0") == "7"


@pytest.mark.parametrize("when", ["running", "stopped"])
def test_killed_qemu_is_told_and_comes_back_with_the_breakpoints(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with debug_session(forever_elf(tmp_path), "mps2-an385", monkeypatch, tmp_path) as (session, _):
        gdb = session.debugger.pid
        session.debugger.console("break count if $r0 == 1000")
        session.debugger.console("disable")
        if when == "running":
            session.resume("continue")
        os.kill(session.emulator.pid, 9)
        with pytest.raises(TargetError, match="ended by signal 9"):
            if when == "stopped":
                session.resume("continue")
            session.wait_stop(soon())

        session.restart()

        assert session.debugger.pid == gdb
        session.debugger.console("enable")
        session.resume("continue")
        stop = session.wait_stop(soon())
        assert stop is not None and stop.breakpoint == 1
        assert session.debugger.evaluate("$r0") == "1000"


def test_gdb_that_answers_to_nothing_is_ended_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gdbext.mi.debugger._INTERRUPT_TIMEOUT_S", 0.1)
    with debug_session(forever_elf(tmp_path), "mps2-an385", monkeypatch, tmp_path) as (session, _):
        with pytest.raises(TargetError, match="it was ended"):
            session.debugger.console(
                "python import signal, time; "
                "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]); time.sleep(600)",
                0.1,
            )

        session.restart()

        assert session.debugger.evaluate("3") == "3"
