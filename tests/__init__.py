# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of gdbext."""

from __future__ import annotations
