# SPDX-License-Identifier: GPL-2.0-or-later
"""Which QEMU program to run: where it is, its version, and the plugin that fits it.

QEMU's plugin API broke twice, so one plugin is built for each of three families; `plugin_family`
says which one a version needs. `$GDBEXT_QEMU_DIR` names a folder to look in instead of `PATH`:
either one that holds the programs, or one that a Debian package was unpacked into.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Literal

from gdbext.errors import NativeError, TargetError
from gdbext.nativelib import NATIVE_DIRECTORY

__all__ = [
    "FAMILIES",
    "Family",
    "QemuBinary",
    "Version",
    "debian_package",
    "find",
    "plugin_family",
    "plugin_path",
    "qemu_directory",
    "version",
]

Family = Literal["v1", "v2", "v7"]
FAMILIES: Final[tuple[Family, ...]] = ("v1", "v2", "v7")

Version = tuple[int, int, int]
"""A QEMU version: major, minor, micro."""

OLDEST: Final[Version] = (6, 0, 0)
DIRECTORY_VARIABLE: Final = "GDBEXT_QEMU_DIR"
_ANSWER_TIMEOUT_S: Final = 20.0


@dataclass(frozen=True)
class QemuBinary:
    """A QEMU that can run with the plugin."""

    path: Path
    version: Version
    family: Family
    arguments: tuple[str, ...] = ()
    """What must be on its command line so that it finds its own files; mostly nothing."""
    environment: dict[str, str] = field(default_factory=dict, hash=False)
    """What must be in its environment beside ours, for the same reason."""

    @property
    def plugin(self) -> Path:
        """The plugin built for this QEMU.

        Raises:
            NativeError: it has not been built.
        """
        return plugin_path(self.family)

    @property
    def version_text(self) -> str:
        """`10.0.2`."""
        return ".".join(map(str, self.version))


def find(name: str, *, user_mode: bool = False) -> QemuBinary:
    """The emulator `name`: a program name (`qemu-system-arm`) or a path.

    Args:
        user_mode: one of single programs (`qemu-arm`) is wanted, not one of machines.

    Raises:
        TargetError: it is not there, does not run, is too old, or was built without plugins.
    """
    path = _locate(name)
    arguments, environment = ((), {}) if user_mode else _unpacked_surroundings(path)
    number = version(path, environment, user_mode=user_mode)
    return QemuBinary(path, number, plugin_family(number), arguments, environment)


def version(
    binary: Path, environment: dict[str, str] | None = None, *, user_mode: bool = False
) -> Version:
    """The version of a QEMU program, which must be able to load plugins.

    Args:
        binary: path of the program.
        environment: variables it needs beside ours.
        user_mode: it shall run single programs, not machines.

    Raises:
        TargetError: it does not run, is no such QEMU, or was built without plugins.
    """
    # A QEMU without plugins refuses the option at once; one with plugins prints its version
    # before it loads any.
    code, output = _ask(binary, ("-plugin", "file=none", "-version"), environment)
    if code != 0 and "plugin interface not enabled" in output:
        raise TargetError(
            f"{binary}: built without plugins; install {debian_package(binary.name)}, or build QEMU"
            " with --enable-plugins"
        )
    name = r"qemu-\w+" if user_mode else "QEMU emulator"
    match = re.search(rf"{name} version (\d+)\.(\d+)(?:\.(\d+))?", output)
    if not user_mode and re.match(r"qemu-\w+ version ", output):
        raise TargetError(
            f"{binary}: runs single programs, not machines; `gdbext record --user` takes it, "
            "everything else wants a system emulator (qemu-system-*)"
        )
    if code != 0 or match is None:
        first_line = next((line for line in output.splitlines() if line.strip()), "no output")
        raise TargetError(f"{binary}: does not tell a QEMU version (status {code}): {first_line}")
    major, minor, micro = match.groups(default="0")
    return int(major), int(minor), int(micro)


def plugin_family(version: tuple[int, ...]) -> Family:
    """The plugin API family of a QEMU version: v1 up to 8.2, v2 from 9.0 to 11.0, v7 from 11.1 on.

    A development version (micro from 50 on) counts as the release it leads to.

    Raises:
        TargetError: older than 6.0.
    """
    if version < OLDEST:
        number = ".".join(map(str, version))
        raise TargetError(f"QEMU {number} is too old for the plugin; 6.0 or later is needed")
    major, minor, micro = (*version, 0, 0)[:3]
    if micro >= 50:
        major, minor = (major + 1, 0) if minor >= 2 else (major, minor + 1)
    if (major, minor) < (9, 0):
        return "v1"
    return "v2" if (major, minor) < (11, 1) else "v7"


def plugin_path(family: Family) -> Path:
    """The plugin built for a family.

    Raises:
        NativeError: it has not been built.
    """
    path = NATIVE_DIRECTORY / f"gdbext-plugin-{family}.so"
    if not path.is_file():
        raise NativeError(f"{path}: not built; run 'make plugin' in the source tree")
    return path


def qemu_directory() -> Path | None:
    """The folder of programs that `$GDBEXT_QEMU_DIR` names; None if it is not set.

    Raises:
        TargetError: it is set, but is no folder.
    """
    value = os.environ.get(DIRECTORY_VARIABLE)
    if not value:
        return None
    root = Path(value)
    if not root.is_dir():
        raise TargetError(f"{DIRECTORY_VARIABLE}={value}: no such folder")
    unpacked = root / "usr" / "bin"
    return unpacked if unpacked.is_dir() else root


def debian_package(name: str) -> str:
    """The Debian package that holds the program `name`."""
    if not name.startswith("qemu-system-"):
        return "qemu-user"
    machine = name.removeprefix("qemu-system-")
    if machine in ("arm", "aarch64"):
        return "qemu-system-arm"
    if machine in ("i386", "x86_64"):
        return "qemu-system-x86"
    if machine.startswith("riscv"):
        return "qemu-system-riscv (up to Debian 12: qemu-system-misc)"
    return "qemu-system-misc"


def _locate(name: str) -> Path:
    if "/" in name:
        path = Path(name)
        if not path.is_file():
            raise TargetError(f"{name}: no such program")
        return path.resolve()
    directory = qemu_directory()
    if directory is not None:
        path = directory / name
        if not path.is_file():
            raise TargetError(f"{path}: no such program; see {DIRECTORY_VARIABLE}")
        return path.absolute()
    found = shutil.which(name)
    if found is None:
        raise TargetError(f"{name}: not found; install {debian_package(name)}")
    return Path(found)


def _unpacked_surroundings(path: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    """Arguments and variables for a program that was unpacked into ROOT/usr/bin, not installed."""
    usr = path.parent.parent
    data = usr / "share" / "qemu"
    if path.parent.name != "bin" or usr == Path("/usr") or not data.is_dir():
        return (), {}
    modules = sorted((usr / "lib").glob("*-linux-gnu*/qemu"))
    environment = {"QEMU_MODULE_DIR": str(modules[0])} if modules else {}
    return ("-L", str(data)), environment


def _ask(
    binary: Path, arguments: tuple[str, ...], environment: dict[str, str] | None
) -> tuple[int, str]:
    """Exit status and all output of a program that ends; remembered until its file changes."""
    try:
        state = binary.stat()
    except OSError as error:
        raise TargetError(f"{binary}: {error.strerror}") from error
    added = tuple(sorted((environment or {}).items()))
    return _ask_once(binary, state.st_mtime_ns, state.st_size, arguments, added)


@cache
def _ask_once(
    binary: Path,
    _mtime_ns: int,
    _size_bytes: int,
    arguments: tuple[str, ...],
    environment: tuple[tuple[str, str], ...],
) -> tuple[int, str]:
    try:
        done = subprocess.run(
            [str(binary), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **dict(environment)},
            timeout=_ANSWER_TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        raise TargetError(f"{binary}: cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise TargetError(f"{binary}: no answer within {_ANSWER_TIMEOUT_S:.0f} s") from error
    return done.returncode, done.stdout.decode(errors="replace")
