# SPDX-License-Identifier: GPL-2.0-or-later
"""stop-on: stop the program at a condition that the recorder sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from gdbext.commands._options import count
from gdbext.commands._places import one_function
from gdbext.commands.registry import Argument, command
from gdbext.errors import UsageError
from gdbext.symbols import Symbols
from gdbext.symbols.vectors import read_vectors
from gdbext.target.stopon import drop_condition, set_condition

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context
    from gdbext.symbols import Vector

# Cortex-M: HardFault, MemManage, BusFault, UsageFault, SecureFault.
FAULTS = frozenset({3, 4, 5, 6, 7})
VTOR: Final = 0xE000ED08
"""Cortex-M's register that holds the vector table's address (Armv7-M manual, B3.2.5)."""


@command(
    "stop-on",
    "Stop the program when an instruction has run N times, at new code, or at a fault.",
    description=(
        "  trace stop-on insn LOC   LOC (a function or 0xADDRESS) is executed, for the Nth time\n"
        "  trace stop-on new        a function begins that the recording has not seen yet\n"
        "  trace stop-on fault      a fault's handler begins (Cortex-M, from the vector table)\n"
        "  trace stop-on off        forget the condition\n"
        "The recorder looks at every block, without a stop of the program until it holds: for the\n"
        "Nth time that is much faster than a breakpoint with a count. QEMU then stops at the end\n"
        "of the block, in GDB as if by Ctrl-C; how far it went beyond is said, and `trace last`\n"
        "shows how it got there. A condition is for one stop."
    ),
    arguments=[
        Argument("WHAT", "Which condition.", choices=("insn", "new", "fault", "off")),
        Argument("LOC", "For insn: function or 0xADDRESS.", optional=True, completes="function"),
        Argument("--count", "For insn: at the Nth execution from now on.", "N", parse=count),
    ],
    doors=["gdb"],
    needs=["recorder"],
)
def stop_on(context: Context, options: argparse.Namespace) -> None:
    """Set the condition, or drop it."""
    what, loc, times = options.what, options.loc, options.count
    if (what == "insn") != (loc is not None) or (times is not None and what != "insn"):
        raise UsageError("stop-on: write insn LOC [--count N], new, fault or off")
    if what == "off":
        with context.control() as client:
            drop_condition(client)
        context.page.line("no stop condition")
        return
    if what == "new":
        workspace = context.workspace(options)
        functions = workspace.summary().functions
        places = {f.address: f.name for f in functions if not f.executed}
        text = "a function runs that has not run yet"
    else:
        elf = context.elf()
        if elf is None:
            raise UsageError("stop-on: GDB has no program; give it with `file ELF`")
        symbols = Symbols.open(elf)
        if what == "insn":
            address = int(loc, 16) if _is_address(loc) else one_function(symbols, loc).address
            places = {address: loc}
            text = f"{loc} is executed" + (f" {times:,} times" if times and times > 1 else "")
        else:
            vectors = _vectors(context, symbols) if symbols.m_profile else []
            places = {v.handler: v.name for v in vectors if v.number in FAULTS}
            text = "a fault's handler begins"
    if not places:
        if what == "new":
            raise UsageError("stop-on new: every function has run already")
        raise UsageError(
            f"{context.elf()}: has no vector table of Cortex-M; name the fault's handler: "
            "trace stop-on insn HANDLER"
        )
    with context.control() as client:
        set_condition(client, sorted(places), times or 1)
    context.stop_condition(text, places)
    context.page.line(f"stops when {text}")


def _vectors(context: Context, symbols: Symbols) -> list[Vector]:
    """The vector table that the processor uses now, wherever the program has put it."""
    register = context.read_memory(VTOR, 4)
    if register is None:
        return symbols.vector_table(0)
    order: Literal["little", "big"] = "little" if symbols.little_endian else "big"
    return read_vectors(_Guest(context, symbols), int.from_bytes(register, order))


class _Guest:
    """The guest's memory, and what of it is code."""

    def __init__(self, context: Context, symbols: Symbols) -> None:
        self._context, self._symbols = context, symbols

    @property
    def little_endian(self) -> bool:
        return self._symbols.little_endian

    def bytes_at(self, address: int, size: int) -> bytes | None:
        return self._context.read_memory(address, size)

    def is_code(self, address: int) -> bool:
        return self._symbols.is_code(address)


def _is_address(text: str) -> bool:
    """Whether it begins as an address does.

    Raises:
        UsageError: it does, but is none.
    """
    if text[:2] not in ("0x", "0X"):
        return False
    try:
        int(text, 16)
    except ValueError:
        raise UsageError(f"'{text}' is no address") from None
    return True
