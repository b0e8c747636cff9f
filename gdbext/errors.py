# SPDX-License-Identifier: GPL-2.0-or-later
"""Every exception that gdbext raises on purpose: one line for people, no traceback."""

from __future__ import annotations


class GdbextError(Exception):
    """Base of all: its text is one line that says what, where and what to do."""


class UsageError(GdbextError):
    """The command was given words it cannot take."""


class ConfigError(GdbextError):
    """A board or session file holds something it must not."""


class TraceFormatError(GdbextError):
    """A recording is damaged, cut where nothing can be read, or of another version."""


class SymbolError(GdbextError):
    """An ELF file cannot be read, or is not the one that was recorded."""


class ControlError(GdbextError):
    """The plugin inside QEMU does not answer, or refuses."""


class TargetError(GdbextError):
    """QEMU, GDB or a tool is missing, fails to start, or ended unexpectedly."""


class DebuggerError(GdbextError):
    """GDB refuses a command; the text is GDB's own."""


class ExpectationError(GdbextError):
    """The firmware did not do what a session or a test expects."""


class NativeError(GdbextError):
    """The compiled replay library or plugin is missing or does not fit this package."""
