# SPDX-License-Identifier: GPL-2.0-or-later
"""What the doctor reports about machines that lack things; the machine is a folder of stand-ins."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gdbext import nativelib
from gdbext.target import doctor, qemu_binary
from tests.unit.target.test_qemu_binary import program, qemu


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, with nothing in it but a shell's tools, and one board."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for tool in ("sh", "cat"):
        found = shutil.which(tool)
        assert found is not None
        (programs / tool).symlink_to(found)
    native = tmp_path / "native"
    native.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.delenv("GDBEXT_QEMU_DIR", raising=False)
    monkeypatch.delenv("GDB", raising=False)
    monkeypatch.setattr(qemu_binary, "NATIVE_DIRECTORY", native)
    monkeypatch.setattr(nativelib, "NATIVE_DIRECTORY", native)
    monkeypatch.setattr(nativelib, "LIBRARY_PATH", native / "libgdbext-replay.so")
    return programs


def whats(report: doctor.Report, *, fatal: bool) -> list[str]:
    return [problem.what for problem in report.problems if problem.fatal is fatal]


def test_bare_machine_lacks_qemu_gdb_and_the_compiled_parts(machine: Path) -> None:
    report = doctor.examine()

    assert not report.works
    fatal = whats(report, fatal=True)
    assert "qemu-system-arm: not found" in fatal
    assert "no GDB found" in fatal
    assert f"{machine.parent}/native/libgdbext-replay.so: not built" in fatal
    text = doctor.render(report)
    assert "  needed: no GDB found; install gdb-multiarch" in text.splitlines()


def test_one_qemu_is_enough_and_the_boards_without_are_named(machine: Path) -> None:
    qemu(machine / "qemu-system-arm", "10.0.2")

    report = doctor.examine()

    arm = next(found for found in report.qemus if found.name == "qemu-system-arm")
    assert arm.found is not None and arm.found.family == "v2"
    assert "mps2-an385" in arm.boards
    assert not any(what.startswith("qemu-system") for what in whats(report, fatal=True))
    others = [found for found in report.qemus if found is not arm]
    assert others
    text = doctor.render(report)
    assert all(found.problem is not None and found.problem in text for found in others)


def test_only_the_plugin_that_the_qemu_needs_is_needed(machine: Path) -> None:
    qemu(machine / "qemu-system-arm", "10.0.2")

    fatal = whats(doctor.examine(), fatal=True)

    assert any("gdbext-plugin-v2.so" in what for what in fatal)
    assert not any("gdbext-plugin-v7.so" in what for what in fatal)


def test_old_plugin_api_is_said_to_cost_more(machine: Path) -> None:
    qemu(machine / "qemu-system-arm", "7.2.22")

    better = whats(doctor.examine(), fatal=False)

    assert any(what.startswith("QEMU 7.2.22 has plugin API v1") for what in better)


def test_gdb_without_python_is_said(machine: Path) -> None:
    program(machine / "gdb-multiarch", "GNU gdb (Debian 13.1-3) 13.1\nPython scripting is not ...")

    report = doctor.examine()

    assert [(gdb.version, gdb.python) for gdb in report.gdbs] == [("13.1", None)]
    assert f"{machine}/gdb-multiarch: has no Python inside" in whats(report, fatal=True)


def test_gdb_whose_python_lacks_packages_is_told_how_to_mend_it(machine: Path) -> None:
    answer = 'GNU gdb (GDB) 16.3\ngdbext-doctor ["3.13.5", ["capstone", "yaml"]]'
    program(machine / "gdb-multiarch", answer)

    report = doctor.examine()

    problem = next(p for p in report.problems if "cannot import" in p.what)
    assert problem.fatal
    assert problem.what.endswith("its Python 3.13.5 cannot import capstone, yaml")
    assert problem.mend == "install gdbext with Python 3.13 ('make setup' does)"


def test_optional_tools_are_no_need(machine: Path) -> None:
    better = whats(doctor.examine(), fatal=False)

    assert "dot not found: no pictures of call graphs" in better


def test_complete_machine_has_nothing_to_mend() -> None:
    report = doctor.Report("1.0", "3.11.2", Path("/usr/bin/python3"), (), (), (), (), ())

    assert report.works
    assert doctor.render(report).endswith("\n\nNothing is missing.")
