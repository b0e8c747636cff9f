# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine that is measured on, and the QEMUs it has."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gdbext.target import qemu_binary
from gdbext.target.qemu_binary import QemuBinary

__all__ = ["ROOT", "QemuRelease", "busy", "describe", "find_qemus"]

ROOT: Final = Path(__file__).resolve().parent.parent.parent
"""The source tree."""

BUSY_LOAD: Final = 1.0


@dataclass(frozen=True)
class QemuRelease:
    """The programs of one QEMU version."""

    family: str
    version: str
    root: Path | None
    """Folder it was unpacked into; None: the machine's own."""

    @property
    def name(self) -> str:
        """`10.0.2 (v2)`."""
        return f"{self.version} ({self.family})"

    def program(self, name: str) -> QemuBinary:
        """One of its programs, such as `qemu-system-arm`."""
        if self.root is None:
            return qemu_binary.find(name)
        return qemu_binary.find(str(self.root / "usr" / "bin" / name))


def find_qemus(*, own: bool) -> list[QemuRelease]:
    """One QEMU of each plugin API family that can be had here (scripts/other-qemus).

    Args:
        own: only the one that gdbext finds by itself.
    """
    found = qemu_binary.find("qemu-system-arm")
    releases = [QemuRelease(found.family, found.version_text, None)]
    if own:
        return releases
    done = subprocess.run(
        [str(ROOT / "scripts" / "other-qemus")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        check=False,  # says on stderr what cannot be had
    )
    for line in done.stdout.splitlines():
        family, version, root = line.split(maxsplit=2)
        if family not in {release.family for release in releases}:
            releases.append(QemuRelease(family, version, Path(root)))
    return sorted(releases, key=lambda release: release.family)


def describe(qemus: Sequence[QemuRelease]) -> dict[str, Any]:
    """What the numbers depend on; neither names nor paths."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        "qemu": [release.name for release in qemus],
        "load_average": round(os.getloadavg()[0], 2),
    }


def busy(machine: dict[str, Any]) -> str:
    """One line if others use the machine too; else empty."""
    load = machine["load_average"]
    if load <= BUSY_LOAD:
        return ""
    return (
        f"The machine was busy (load average {load} at the start): times and ratios are not to be "
        "relied on."
    )


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
