# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gdbext.target.qemu_binary import QemuBinary
from tests.support.firmware import firmware_path
from tests.support.qemus import QEMU_ROOTS, qemu_in


@pytest.fixture(scope="session")
def firmware() -> Callable[..., Path]:
    """Return a function of (program, board[, variant]) that gives the built ELF."""
    return firmware_path


@pytest.fixture(params=QEMU_ROOTS, ids=lambda root: Path(root).name or "own")
def find_qemu(request: pytest.FixtureRequest) -> Callable[[str], QemuBinary]:
    """Return a function that finds a QEMU program by name; the test runs once for each QEMU."""
    root: str = request.param
    return lambda name: qemu_in(root, name)
