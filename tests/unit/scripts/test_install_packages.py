# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/install-packages, with stand-ins for apt and dpkg that keep their state in a folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "install-packages"

TOOLS = {
    # installed/NAME: a package that is installed; known/NAME: one that the lists know.
    "dpkg-query": """
        if [ $# -eq 3 ]; then
            for p in $STATE/installed/*; do echo "installed ${p##*/}"; done
            exit
        fi
        shift 3
        for p; do [ -e $STATE/installed/$p ] && printf 'installed'; done; exit 0""",
    "apt-cache": """
        [ -e $STATE/known/$2 ] && printf '%s:\\n  Candidate: 1.0\\n' $2
        exit 0""",
    "apt-get": """
        echo "$@" >>$STATE/calls
        case "$*" in
        *update*) cp $STATE/mirror/* $STATE/known/ ;;
        *) for p; do case $p in -*|install) ;; *) touch $STATE/installed/$p ;; esac; done ;;
        esac""",
    "id": "echo $FAKE_UID",
    "sudo": 'echo "sudo $*" >>$STATE/calls; "$@"',
}


class Machine:
    """A Debian in a folder."""

    def __init__(self, folder: Path, tools: dict[str, str]) -> None:
        self.folder = folder
        for name in ("bin", "installed", "known", "mirror"):
            (folder / name).mkdir()
        for name, text in tools.items():
            path = folder / "bin" / name
            path.write_text(f"#!/bin/bash\n{text}\n")
            path.chmod(0o755)
        for name in ("bash", "cat", "cp", "env", "grep", "mktemp", "paste", "rm", "sed", "sort"):
            (folder / "bin" / name).symlink_to(f"/usr/bin/{name}")
        for name in ("tail", "touch", "tr"):
            (folder / "bin" / name).symlink_to(f"/usr/bin/{name}")

    def add(self, kind: str, *packages: str) -> None:
        for package in packages:
            (self.folder / kind / package).touch()

    def run(self, *words: str, uid: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": str(self.folder / "bin"),
            "STATE": str(self.folder),
            "FAKE_UID": str(uid),
            "TMPDIR": str(self.folder),
        }
        return subprocess.run(
            [str(SCRIPT), *words], env=environment, capture_output=True, text=True, check=False
        )

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def installed(self) -> set[str]:
        return {path.name for path in (self.folder / "installed").iterdir()}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A Debian with nothing installed that matters, root by default."""
    return Machine(tmp_path, TOOLS)


def test_nothing_missing_is_silent_and_touches_nothing(machine: Machine) -> None:
    machine.add("installed", "patchelf")

    done = machine.run("matrix")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert machine.calls == []


def test_says_what_it_will_install_and_what_it_has(machine: Machine) -> None:
    machine.add("known", "clang", "llvm", "libclang-rt-dev")
    machine.add("installed", "llvm", "libclang-rt-dev", "bash")

    done = machine.run("fuzz")

    first, last = done.stdout.splitlines()
    assert first == "install-packages: will install (with what they depend on): clang"
    assert last.startswith("install-packages: installed 1 packages: ")
    assert machine.installed() == {"bash", "clang", "libclang-rt-dev", "llvm"}
    assert machine.calls == ["install -y -qq --no-install-recommends clang"]


def test_lists_are_fetched_only_when_they_do_not_know_a_package(machine: Machine) -> None:
    machine.add("mirror", "patchelf")

    done = machine.run("matrix")

    assert done.returncode == 0
    assert [call.split()[-1] for call in machine.calls] == ["update", "patchelf"]


def test_unknown_package_is_named(machine: Machine) -> None:
    machine.add("mirror", "something-else")

    done = machine.run("matrix")

    assert done.returncode == 1
    assert done.stderr == (
        "install-packages: this system's apt sources have no package 'patchelf'\n"
    )


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (("qemu-system-misc",), "qemu-system-misc"),
        (("qemu-system-misc", "qemu-system-riscv"), "qemu-system-riscv"),
    ],
)
def test_package_that_newer_releases_split_off(
    machine: Machine, known: tuple[str, ...], expected: str
) -> None:
    others = machine.run("--list", "run").stdout.split()
    machine.add("installed", *(name for name in others if "|" not in name))
    machine.add("known", *known)

    assert machine.run("run").returncode == 0

    assert machine.calls == [f"install -y -qq --no-install-recommends {expected}"]


def test_other_users_need_sudo(machine: Machine) -> None:
    machine.add("known", "patchelf")

    assert machine.run("matrix", uid=1000).returncode == 0

    assert machine.calls[0].startswith("sudo env DEBIAN_FRONTEND=noninteractive apt-get install")


def test_without_root_and_sudo_one_line_says_what_to_type(tmp_path: Path) -> None:
    machine = Machine(tmp_path, {name: TOOLS[name] for name in TOOLS if name != "sudo"})
    machine.add("known", "patchelf")

    done = machine.run("matrix", uid=1000)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "install-packages: packages are missing and there is no sudo; as root: apt-get update &&"
        " apt-get install -y --no-install-recommends patchelf"
    ]


def test_system_without_apt_is_told_what_is_needed(tmp_path: Path) -> None:
    machine = Machine(tmp_path, {})

    done = machine.run("fuzz")

    assert done.returncode == 0
    assert done.stderr == (
        "install-packages: no apt-get here; please see to it that these are installed (Debian's"
        " names): clang libclang-rt-dev llvm\n"
    )


def test_unknown_group_is_refused() -> None:
    done = subprocess.run(
        [str(SCRIPT), "nonsense"], env=dict(os.environ), capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert done.stderr.startswith("install-packages: unknown group 'nonsense'; groups: run build")
