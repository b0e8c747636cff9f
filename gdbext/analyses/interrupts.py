# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers of interrupts and exceptions: how often and how long they ran, whom they interrupted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gdbext.analyses.refs import FunctionRef, function_ref
from gdbext.analyses.repairs import repairs_of
from gdbext.replay.calls import HANDLER_KINDS, NodeKind
from gdbext.replay.tables import TrapSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gdbext.analyses.program import Program
    from gdbext.replay.calls import HandlerRow

__all__ = ["Handler", "Interrupted", "InterruptsReport", "report_interrupts"]


@dataclass(frozen=True)
class Interrupted:
    """A function that a handler interrupted `count` times; None where it was not recorded."""

    function: FunctionRef | None
    count: int

    def to_json(self) -> dict[str, Any]:
        """{function, count}."""
        function = self.function.to_json() if self.function is not None else None
        return {"function": function, "count": self.count}


@dataclass(frozen=True)
class Handler:
    """One handler; the times are instructions of its vCPU, None where there was none to measure.

    Attributes:
        name: the function at `address`, with the offset into it (`vectors+0x280`).
        vectors: names of the vector table's entries that lead to it; none where there is no table.
        kinds: those of `interrupt`, `exception` and `unknown` (one of them) that it was entered by.
        count: times it was entered (not where the recording began in it); `complete` of them also
            returned.
        tail_chained: of `count`, those that began directly after another handler.
        self_insns: in all, with what it called, without handlers that interrupted it.
        min_insns: least instructions of a complete run; median and most likewise.
        max_nesting: 1 if it never interrupted another handler.
        min_period: least instructions between two entries, of the program's and others'.
        interrupted: most often first; counts add up to `count`.
    """

    name: str
    address: int
    file: str | None
    vectors: tuple[str, ...]
    kinds: tuple[str, ...]
    count: int
    complete: int
    tail_chained: int
    self_insns: int
    min_insns: int | None
    median_insns: int | None
    max_insns: int | None
    max_nesting: int
    min_period: int | None
    median_period: int | None
    max_period: int | None
    interrupted: tuple[Interrupted, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return {**asdict(self), "interrupted": [each.to_json() for each in self.interrupted]}


@dataclass(frozen=True)
class InterruptsReport:
    """All handlers that ran, most instructions first."""

    instructions: int
    handlers: tuple[Handler, ...]
    max_nesting: int
    inferred: int
    """Entries that were inferred from the flow, not reported by QEMU."""
    repairs: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "gdbext/interrupts/1"."""
        return {
            "instructions": self.instructions,
            "handlers": [handler.to_json() for handler in self.handlers],
            "max_nesting": self.max_nesting,
            "inferred": self.inferred,
            "repairs": self.repairs,
        }


def report_interrupts(program: Program, vectors: Mapping[int, Sequence[str]]) -> InterruptsReport:
    """Answer `interrupts`.

    Args:
        vectors: names of vector table entries by handler address (without Thumb bit).
    """
    tables = program.tables
    handlers = [
        _handler(program, row, tuple(vectors.get(row.address, ())))
        for row in program.calls.handlers
        if row.runs or row.self_insns
    ]
    return InterruptsReport(
        instructions=tables.instructions,
        handlers=tuple(sorted(handlers, key=lambda h: (-h.self_insns, h.address))),
        max_nesting=tables.stats.max_nesting,
        inferred=sum(trap.n for trap in tables.traps if trap.source is TrapSource.INFERRED),
        repairs=repairs_of(program),
    )


def _handler(program: Program, row: HandlerRow, vectors: tuple[str, ...]) -> Handler:
    symbols = program.symbols
    name = function_ref(symbols, symbols.function_at(row.address), row.address)
    offset = row.address - name.address
    kinds = tuple(
        "unknown" if kind is NodeKind.TRAP else kind.name.lower()
        for kind in sorted(HANDLER_KINDS)
        if row.kinds >> kind & 1
    )
    ran = row.complete > 0
    again = row.runs > 1
    # Medians of large numbers are rounded down to 12 bits.
    return Handler(
        name=name.name if offset == 0 else f"{name.name}+{offset:#x}",
        address=row.address,
        file=name.file,
        vectors=vectors,
        kinds=kinds,
        count=row.runs,
        complete=row.complete,
        tail_chained=row.tail_chained,
        self_insns=row.self_insns,
        min_insns=row.min_insns if ran else None,
        median_insns=max(row.median_insns, row.min_insns) if ran else None,
        max_insns=row.max_insns if ran else None,
        max_nesting=row.max_nesting,
        min_period=row.min_period if again else None,
        median_period=max(row.median_period, row.min_period) if again else None,
        max_period=row.max_period if again else None,
        interrupted=tuple(_interrupted(program, row.address)),
    )


def _interrupted(program: Program, handler: int) -> Iterable[Interrupted]:
    """By function of the last instruction that had begun when the trap came."""
    blocks, symbols = program.blocks, program.symbols
    counts: dict[FunctionRef | None, int] = {}
    for trap in program.tables.traps:
        if blocks.address[trap.to] != handler:
            continue
        function = None
        if trap.from_:
            sizes = blocks.sizes(trap.from_)
            begun = trap.begun or len(sizes)
            address = blocks.address[trap.from_] + sum(sizes[: begun - 1])
            function = function_ref(symbols, symbols.function_at(address), address)
        counts[function] = counts.get(function, 0) + trap.n
    return sorted(
        (Interrupted(function, n) for function, n in counts.items()),
        key=lambda each: (-each.count, each.function.address if each.function else -1),
    )
