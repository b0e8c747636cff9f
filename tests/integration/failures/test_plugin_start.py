# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts that cannot work: each ends QEMU, with one line that says what is wrong."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gdbext.nativelib import NATIVE_DIRECTORY
from gdbext.target.boards import load_board
from gdbext.target.qemu_binary import FAMILIES, QemuBinary, plugin_path
from tests.support.firmware import counters, firmware_path
from tests.support.gdbext_cli import environment, gdbext_command
from tests.support.qemu_runs import record

BOARD = load_board("mps2-an385")


@pytest.fixture
def qemu(find_qemu: Callable[[str], QemuBinary]) -> QemuBinary:
    """QEMU for the board."""
    return find_qemu(BOARD.qemu)


def start(qemu: QemuBinary, plugin: Path, options: str, cwd: Path) -> tuple[int, list[str]]:
    """Run a program with the plugin and these options; status and what the recorder said."""
    elf = firmware_path("basic", BOARD.name, "O2")
    done = subprocess.run(
        [str(qemu.path), *qemu.arguments, *BOARD.arguments(elf), "-plugin", f"{plugin}{options}"],
        cwd=cwd,
        env={**os.environ, **qemu.environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, [
        line.removeprefix("gdbext: ")
        for line in done.stderr.splitlines()
        if line.startswith("gdbext: ")
    ]


KNOWN = "known: dir, record, filter, insns, ring, level, probes, vectors"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "plugin option 'dir=DIRECTORY' is missing: where to record"),
        (",record=on", "plugin option 'dir=DIRECTORY' is missing: where to record"),
        (",dir=", "plugin option 'dir=': wants a directory"),
        (
            ",dir=d,rings=1",
            "unknown plugin option 'rings'; " + KNOWN,
        ),
        (
            ",dir=d,rec=on",
            "unknown plugin option 'rec'; " + KNOWN,
        ),
        (
            ",dir=d,records=on",
            "unknown plugin option 'records'; " + KNOWN,
        ),
        (",dir=d,ring=1", "plugin option 'ring=1': wants a number of bytes, 4096 or more"),
        (",dir=d,record=maybe", "plugin option 'record=maybe': wants on or off"),
        (",dir=d,insns=many", "plugin option 'insns=many': wants a number of instructions"),
        (",dir=d,insns=-1", "plugin option 'insns=-1': wants a number of instructions"),
        (",dir=d,insns=1k", "plugin option 'insns=1k': wants a number of instructions"),
        (
            ",dir=d,insns=99999999999999999999",
            "plugin option 'insns=99999999999999999999': wants a number of instructions",
        ),
        (",dir=d,probes=few", "plugin option 'probes=few': wants on or off"),
        (
            ",dir=d,vectors=table",
            "plugin option 'vectors=table': wants the address of the vector table",
        ),
        (",dir=d,level=0", "plugin option 'level=0': wants a number from 1 to 19"),
        (",dir=d,level=20", "plugin option 'level=20': wants a number from 1 to 19"),
        (",dir=d,level=", "plugin option 'level=': wants a number from 1 to 19"),
    ],
)
def test_wrong_option_is_one_line_and_makes_nothing(
    qemu: QemuBinary, tmp_path: Path, options: str, message: str
) -> None:
    assert start(qemu, qemu.plugin, options, tmp_path) == (1, [message])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda path: None, "live/x: No such file or directory"),
        (lambda path: path.write_text(""), "live/x: Not a directory"),
    ],
    ids=["missing", "file"],
)
def test_directory_that_cannot_be_made(
    qemu: QemuBinary, tmp_path: Path, prepare: Callable[[Path], object], message: str
) -> None:
    prepare(tmp_path / "live")

    assert start(qemu, qemu.plugin, ",dir=live/x", tmp_path) == (1, [message])


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_directory_that_others_may_enter_is_refused(
    qemu: QemuBinary, tmp_path: Path, mode: int
) -> None:
    (tmp_path / "live").mkdir()
    (tmp_path / "live").chmod(mode)

    status, said = start(qemu, qemu.plugin, ",dir=live", tmp_path)

    assert (status, said) == (1, ["live: must be yours alone (chmod 700)"])
    assert list((tmp_path / "live").iterdir()) == []


def test_directory_of_another_user_is_refused(qemu: QemuBinary, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a directory of another user")
    (tmp_path / "live").mkdir(mode=0o700)
    os.chown(tmp_path / "live", 65534, 65534)

    status, said = start(qemu, qemu.plugin, ",dir=live", tmp_path)

    assert (status, said) == (1, ["live: must be yours alone (chmod 700)"])


def test_second_recording_in_a_directory_is_refused_and_the_first_stays(
    qemu: QemuBinary, tmp_path: Path
) -> None:
    record(BOARD, firmware_path("basic", BOARD.name, "O2"), qemu, tmp_path / "live")
    before = {path.name: path.read_bytes() for path in (tmp_path / "live").iterdir()}

    status, said = start(qemu, qemu.plugin, ",dir=live", tmp_path)

    assert status == 1
    assert said == ["live: holds a recording already; name another directory"]
    assert {path.name: path.read_bytes() for path in (tmp_path / "live").iterdir()} == before
    assert sorted(before) == ["blocks", "live", "stream"]


def test_path_too_long_for_a_socket_is_refused_and_leaves_nothing(
    qemu: QemuBinary, tmp_path: Path
) -> None:
    name = "d" * 120

    status, said = start(qemu, qemu.plugin, f",dir={name}", tmp_path)

    assert (status, said) == (
        1,
        [f"{name}: too long for a socket's path (at most 99 bytes)"],
    )
    assert list((tmp_path / name).iterdir()) == []


def test_files_and_socket_are_the_users_alone(qemu: QemuBinary, tmp_path: Path) -> None:
    record(BOARD, firmware_path("basic", BOARD.name, "O2"), qemu, tmp_path / "live")

    assert stat.S_IMODE((tmp_path / "live").stat().st_mode) == 0o700
    for path in (tmp_path / "live").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_plugin_of_another_family_is_refused_by_qemu(qemu: QemuBinary, tmp_path: Path) -> None:
    for family in FAMILIES:
        if family != qemu.family:
            status, said = start(qemu, plugin_path(family), ",dir=live", tmp_path)

            assert (status, said) == (1, []), family
            assert list(tmp_path.iterdir()) == []


def test_plugin_that_was_not_built_is_one_line(tmp_path: Path) -> None:
    package = tmp_path / "gdbext"
    shutil.copytree(NATIVE_DIRECTORY.parent, package, ignore=shutil.ignore_patterns("*-v?.so"))
    shutil.copytree(NATIVE_DIRECTORY.parent.parent / "config", tmp_path / "config")
    elf = firmware_path("basic", BOARD.name, "O2")
    for verb, status in (("record", 125), ("debug", 1)):
        words = [verb, str(elf), "--board", BOARD.name]
        if verb == "record":
            words += ["-o", str(tmp_path / "t.rec")]
        done = subprocess.run(
            gdbext_command(*words),
            cwd=tmp_path,
            env={**environment(tmp_path), "PYTHONPATH": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

        assert done.returncode == status
        assert done.stderr.count("\n") == 1
        assert ".so: not built; run 'make plugin' in the source tree" in done.stderr


def test_gdbext_always_takes_the_plugin_that_fits(qemu: QemuBinary, tmp_path: Path) -> None:
    run = record(BOARD, firmware_path("basic", BOARD.name, "O2"), qemu, tmp_path / "live")

    assert qemu.plugin.name == f"gdbext-plugin-{qemu.family}.so"
    assert counters(run.text())["done"] == 1
