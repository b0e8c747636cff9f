# SPDX-License-Identifier: GPL-2.0-or-later
"""Convenience functions for GDB's expressions: `$trace_calls("malloc")` and others.

They stand in conditions of breakpoints, so each call brings the recording up to date and then
reads one number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import gdb

from gdbext.errors import GdbextError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdbext.gdb.context import GdbContext

__all__ = ["register_functions"]

_COUNTED = """
Counted up to where the program stands; a call counts once its first instruction ran."""
_NAMES = """
FUNCTION is "NAME", "FILE:NAME" or "0xADDRESS", or the function itself: $%s (main)."""


def register_functions(context: GdbContext) -> None:
    """Make the functions known to GDB."""
    _OfFunction(
        "trace_calls",
        "Times that a function was called, in the recording.\n"
        'Usage: $trace_calls ("FUNCTION")\n' + _NAMES % "trace_calls" + _COUNTED,
        lambda name: context.workspace().counters.calls(name),
    )
    _OfFunction(
        "trace_covered",
        "Percentage of a function's instructions that were executed, 0.0 to 100.0.\n"
        'Usage: $trace_covered ("FUNCTION")\n' + _NAMES % "trace_covered",
        lambda name: context.workspace().counters.covered(name),
    )
    _OfFunction(
        "trace_irqs",
        "Times that a handler of an interrupt or exception was entered, in the recording.\n"
        'Usage: $trace_irqs ("HANDLER")\n'
        '\nHANDLER is a function, as "NAME", "NAME+0xOFFSET" or "0xADDRESS", or on Cortex-M an\n'
        'entry of the vector table ("SysTick", "IRQ3").' + _COUNTED,
        lambda name: context.workspace().counters.irqs(name),
    )
    _Instructions(context)


class _OfFunction(gdb.Function):  # type: ignore[misc]
    """A number about one function."""

    def __init__(self, name: str, text: str, ask: Callable[[str], int | float]) -> None:
        self.__doc__ = text
        self._name, self._ask = name, ask
        super().__init__(name)

    def invoke(self, *arguments: gdb.Value) -> int | float:
        try:
            if len(arguments) != 1:
                raise UsageError(f'write ${self._name}("FUNCTION")')
            return self._ask(_name_of(arguments[0], self._name))
        except GdbextError as error:
            raise gdb.GdbError(str(error)) from error


class _Instructions(gdb.Function):  # type: ignore[misc]
    """Instructions that were executed in the recording, on all vCPUs.
    Usage: $trace_insns ()"""

    def __init__(self, context: GdbContext) -> None:
        self.__doc__ = (
            "Instructions that were executed in the recording, on all vCPUs.\n"
            "Usage: $trace_insns ()"
        )
        self._context = context
        super().__init__("trace_insns")

    def invoke(self, *arguments: gdb.Value) -> int:
        try:
            if arguments:
                raise UsageError("write $trace_insns()")
            return self._context.counters().instructions()
        except GdbextError as error:
            raise gdb.GdbError(str(error)) from error


def _name_of(value: gdb.Value, asked: str) -> str:
    """The function that an argument names: its name, or its address as 0xADDRESS.

    Raises:
        UsageError: it is neither a text, nor a function, nor an address.
    """
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_FUNC:
        return _address(value.address)
    if kind.code == gdb.TYPE_CODE_PTR and kind.target().strip_typedefs().code == gdb.TYPE_CODE_FUNC:
        return _address(value)
    if kind.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_ENUM):
        return _address(value)
    try:
        return str(value.string())
    except (gdb.error, UnicodeDecodeError):
        raise UsageError(
            f'${asked}: {value.type} is no name of a function; write ${asked}("FUNCTION")'
        ) from None


def _address(value: gdb.Value) -> str:
    """An address without the bit that says Thumb."""
    address = int(value)
    name = gdb.selected_inferior().architecture().name()
    if name.startswith("arm"):
        address &= ~1
    return f"{address:#x}"
