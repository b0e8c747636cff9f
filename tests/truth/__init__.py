# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers that gdbext did not make, to compare its own with."""

from __future__ import annotations
