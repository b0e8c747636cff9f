# SPDX-License-Identifier: GPL-2.0-or-later
"""ELF and DWARF look-ups: functions, source lines, inlined code, bytes."""

from __future__ import annotations

from gdbext.symbols.model import Function, InlineFrame, LineRow, Mode, SourceLine, Vector
from gdbext.symbols.symbols import Symbols

__all__ = ["Function", "InlineFrame", "LineRow", "Mode", "SourceLine", "Symbols", "Vector"]
