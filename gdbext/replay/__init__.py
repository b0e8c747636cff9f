# SPDX-License-Identifier: GPL-2.0-or-later
"""The replay: a recording's blocks classified, counted and put together in tables."""

from __future__ import annotations
