# SPDX-License-Identifier: GPL-2.0-or-later
"""Fuzzing of the C library: make test-fuzz."""

from __future__ import annotations
