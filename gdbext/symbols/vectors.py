# SPDX-License-Identifier: GPL-2.0-or-later
"""The exception vector table of Cortex-M (Armv7-M Architecture Reference Manual, B1.5.3)."""

from __future__ import annotations

from typing import Protocol

from gdbext.symbols.model import Vector

_NAMES = {
    1: "Reset", 2: "NMI", 3: "HardFault", 4: "MemManage", 5: "BusFault", 6: "UsageFault",
    7: "SecureFault", 11: "SVCall", 12: "DebugMonitor", 14: "PendSV", 15: "SysTick",
}  # fmt: skip
_MOST = 16 + 496


class Memory(Protocol):
    """What is needed of the file the table lies in."""

    @property
    def little_endian(self) -> bool: ...
    def bytes_at(self, address: int, size: int) -> bytes | None: ...
    def is_code(self, address: int) -> bool: ...


def read_vectors(memory: Memory, address: int) -> list[Vector]:
    """Entries from 1 (Reset) up to the first word that is no Thumb code address; zeros left out."""
    order = "little" if memory.little_endian else "big"
    vectors = []
    for index in range(1, _MOST):
        word = memory.bytes_at(address + 4 * index, 4)
        if word is None:
            break
        handler = int.from_bytes(word, order)  # type: ignore[arg-type]
        if not handler:
            continue
        if not handler & 1 or not memory.is_code(handler & ~1):
            break
        vectors.append(Vector(index, vector_name(index), handler & ~1))
    return vectors


def vector_name(index: int) -> str:
    """The architecture's name of an exception number; `IRQ0` is number 16."""
    return f"IRQ{index - 16}" if index >= 16 else _NAMES.get(index, f"Reserved{index}")
