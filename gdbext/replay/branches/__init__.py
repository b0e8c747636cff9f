# SPDX-License-Identifier: GPL-2.0-or-later
"""How the last instruction of a block leaves it, by instruction set, from its encoding."""

from __future__ import annotations
