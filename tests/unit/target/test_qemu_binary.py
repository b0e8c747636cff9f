# SPDX-License-Identifier: GPL-2.0-or-later
"""Finding QEMU programs, and which plugin fits them; scripts stand in and say what QEMU would."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdbext.errors import NativeError, TargetError
from gdbext.target import qemu_binary

VERSION_LINE = "QEMU emulator version {}"
DEBIAN_7_2 = "7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)"


def program(path: Path, output: str, status: int = 0) -> Path:
    """Make a program that prints `output` and ends with `status`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\nexit {status}\n")
    path.chmod(0o755)
    return path


def qemu(path: Path, version: str = DEBIAN_7_2) -> Path:
    """Make a program that tells a QEMU version."""
    return program(path, VERSION_LINE.format(version))


@pytest.mark.parametrize(
    ("version", "family"),
    [
        ((6, 0, 0), "v1"),
        ((7, 2, 22), "v1"),
        ((8, 2, 9), "v1"),
        ((9, 0, 0), "v2"),
        ((10, 0, 13), "v2"),
        ((10, 2), "v2"),
        ((11, 0, 3), "v2"),
        ((11, 1), "v7"),
        ((11, 1, 3), "v7"),
        ((12, 0, 0), "v7"),
    ],
)
def test_family_of_a_release(version: tuple[int, ...], family: str) -> None:
    assert qemu_binary.plugin_family(version) == family


@pytest.mark.parametrize(
    ("version", "family"),
    [
        ((8, 1, 94), "v1"),
        ((8, 2, 50), "v2"),
        ((10, 2, 90), "v2"),
        ((11, 0, 49), "v2"),
        ((11, 0, 50), "v7"),
    ],
)
def test_family_of_a_development_version_is_that_of_its_release(
    version: tuple[int, ...], family: str
) -> None:
    assert qemu_binary.plugin_family(version) == family


def test_too_old_version_is_refused() -> None:
    with pytest.raises(TargetError, match=r"^QEMU 5\.2\.0 is too old .* 6\.0 or later is needed$"):
        qemu_binary.plugin_family((5, 2, 0))


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (DEBIAN_7_2, (7, 2, 22)),
        ("10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)", (10, 0, 2)),
        ("9.2.50 (v9.2.0-600-gabcdef)", (9, 2, 50)),
        ("8.2", (8, 2, 0)),
    ],
)
def test_version_is_read(tmp_path: Path, text: str, version: tuple[int, int, int]) -> None:
    assert qemu_binary.version(qemu(tmp_path / "qemu-system-arm", text)) == version


def test_version_is_asked_again_when_the_program_changes(tmp_path: Path) -> None:
    path = qemu(tmp_path / "qemu-system-arm", "7.2.0")
    assert qemu_binary.version(path) == (7, 2, 0)

    qemu(path, "10.0.12 (newer)")

    assert qemu_binary.version(path) == (10, 0, 12)


def test_qemu_built_without_plugins_is_refused(tmp_path: Path) -> None:
    said = "qemu-system-arm: -plugin file=none: plugin interface not enabled in this build"
    path = program(tmp_path / "qemu-system-arm", said, status=1)

    with pytest.raises(TargetError, match="built without plugins; install qemu-system-arm, or"):
        qemu_binary.version(path)


def test_emulator_of_single_programs_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = program(tmp_path / "qemu-arm", "qemu-arm version 7.2.22 (Debian 1:7.2)")

    with pytest.raises(TargetError, match=r"runs single programs, not machines; .*--user"):
        qemu_binary.version(path)


def test_program_that_is_no_qemu_is_refused_with_what_it_says(tmp_path: Path) -> None:
    path = program(tmp_path / "qemu-system-arm", "error while loading libfoo.so", status=127)

    with pytest.raises(TargetError) as caught:
        qemu_binary.version(path)

    assert str(caught.value) == (
        f"{path}: does not tell a QEMU version (status 127): error while loading libfoo.so"
    )


def test_file_that_cannot_be_executed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "qemu-system-arm"
    path.write_bytes(b"\x7fELF, or so")
    path.chmod(0o755)

    with pytest.raises(TargetError, match="cannot be run: Exec format error"):
        qemu_binary.version(path)


def test_program_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = qemu(tmp_path / "qemu-system-arm")
    monkeypatch.delenv("GDBEXT_QEMU_DIR", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    found = qemu_binary.find("qemu-system-arm")

    assert (found.path, found.version, found.family) == (path, (7, 2, 22), "v1")
    assert (found.arguments, found.environment) == ((), {})
    assert found.version_text == "7.2.22"


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("qemu-system-arm", "qemu-system-arm"),
        ("qemu-system-aarch64", "qemu-system-arm"),
        ("qemu-system-riscv32", "qemu-system-riscv"),
        ("qemu-system-x86_64", "qemu-system-x86"),
        ("qemu-system-avr", "qemu-system-misc"),
    ],
)
def test_missing_program_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    monkeypatch.delenv("GDBEXT_QEMU_DIR", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(TargetError, match=f"^{name}: not found; install {package}"):
        qemu_binary.find(name)


def test_path_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDBEXT_QEMU_DIR", "/nowhere")
    path = qemu(tmp_path / "my-qemu", "10.0.2")

    assert qemu_binary.find(str(path)).path == path
    with pytest.raises(TargetError, match=r"other: no such program$"):
        qemu_binary.find(str(tmp_path / "other"))


def test_folder_of_programs_goes_before_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = qemu(tmp_path / "here" / "qemu-system-arm", "10.0.2")
    qemu(tmp_path / "there" / "qemu-system-arm")
    qemu(tmp_path / "there" / "qemu-system-avr")
    monkeypatch.setenv("PATH", f"{tmp_path / 'there'}:/usr/bin:/bin")
    monkeypatch.setenv("GDBEXT_QEMU_DIR", str(tmp_path / "here"))

    assert qemu_binary.find("qemu-system-arm").path == path
    with pytest.raises(TargetError, match=r"/here/qemu-system-avr: no such program"):
        qemu_binary.find("qemu-system-avr")


def test_missing_folder_of_programs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDBEXT_QEMU_DIR", "/no/such/folder")

    with pytest.raises(TargetError, match=r"^GDBEXT_QEMU_DIR=/no/such/folder: no such folder$"):
        qemu_binary.find("qemu-system-arm")


def test_unpacked_package_gets_its_own_data_and_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = qemu(tmp_path / "usr/bin/qemu-system-arm", "11.1.3")
    data = tmp_path / "usr/share/qemu"
    modules = tmp_path / "usr/lib/x86_64-linux-gnu/qemu"
    data.mkdir(parents=True)
    modules.mkdir(parents=True)
    monkeypatch.setenv("GDBEXT_QEMU_DIR", str(tmp_path))

    found = qemu_binary.find("qemu-system-arm")

    assert (found.path, found.family) == (path, "v7")
    assert found.arguments == ("-L", str(data))
    assert found.environment == {"QEMU_MODULE_DIR": str(modules)}


def test_plugin_is_named_after_its_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu_binary, "NATIVE_DIRECTORY", tmp_path)
    path = tmp_path / "gdbext-plugin-v2.so"
    path.touch()

    assert qemu_binary.plugin_path("v2") == path
    with pytest.raises(NativeError, match=r"gdbext-plugin-v7\.so: not built; run 'make plugin'"):
        qemu_binary.plugin_path("v7")
