# SPDX-License-Identifier: GPL-2.0-or-later
"""Firmware tests as ordinary pytest tests, in a pytest of their own, with real QEMU and GDB."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.firmware import firmware_path
from tests.support.gdb_session import need_gdb
from tests.support.gdbext_cli import environment, qemu_processes
from tests.support.qemus import qemu_in

TESTS = """\
def test_holds(gdbext):
    gdbext.start(qemu_args=["-icount", "shift=5"])
    gdbext.record()
    stop = gdbext.run_until(function="round_trip")
    assert stop.function == "round_trip"
    assert gdbext.evaluate("gx_counters.iterations") == 0
    assert gdbext.run_until(exit=0).exit_status == 0
    gdbext.check("calls(round_trip) == 60 and console contains 'counter iterations 60'")
    assert gdbext.answer("calls(mix)") == gdbext.answer("calls(scan)")
    assert "called 60 times" in gdbext.trace("callers round_trip")

def test_does_not_hold(gdbext):
    gdbext.start(board="mps2-an385")
    gdbext.record()
    gdbext.run()
    gdbext.check("calls(round_trip) == 61")

def test_does_not_get_there(gdbext):
    gdbext.start()
    gdbext.run_until(console="never written")

def test_starts_nothing(gdbext):
    pass

def test_asks_too_early(gdbext):
    gdbext.run()
"""


def pytest_of(tmp_path: Path, *words: str) -> tuple[int, str]:
    """Run pytest on the tests above; its status and output."""
    need_gdb()
    qemu_in("", "qemu-system-arm")
    elf = firmware_path("basic", "mps2-an385", "O2")
    (tmp_path / "test_firmware.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\ngdbext_firmware = {elf}\ngdbext_board = mps2-an385\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (qemu_processes(tmp_path), list(tmp_path.glob(f"gdbext-{os.getuid()}/*"))) == ([], [])
    return done.returncode, done.stdout + done.stderr


def test_firmware_tests_pass_and_fail_side_by_side(tmp_path: Path) -> None:
    status, told = pytest_of(tmp_path, "-n", "2")

    assert status == 1
    assert "3 failed, 2 passed" in told
    assert "expected calls(round_trip) == 61, but calls(round_trip) is 60" in told
    assert "has ended with status 0 before console output 'never written' was reached" in told
    assert "nothing is started; call start() first" in told
    assert "guest's console" in told and "counter iterations 60" in told


def test_firmware_of_the_command_line_goes_before_that_of_the_ini_file(tmp_path: Path) -> None:
    status, told = pytest_of(tmp_path, "-k", "test_holds", "--gdbext-firmware", "no.elf")

    assert status == 1
    assert "no.elf: cannot be read: No such file" in told
