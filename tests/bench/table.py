# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of measured numbers with what they must and should be, as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from gdbext.render.page import Column, Table, plain_table
from tests.bench.pairing import Spread

__all__ = [
    "BYTES",
    "INSNS_PER_S",
    "MIB",
    "RATIO",
    "SECONDS",
    "Row",
    "Unit",
    "as_json",
    "in_order",
    "markdown",
    "text",
]


@dataclass(frozen=True)
class Unit:
    """How a kind of number is written, and which way is better."""

    name: str
    write: Callable[[float], str]
    more_is_better: bool = False


RATIO: Final = Unit("ratio", lambda value: f"{value:.2f}" if value < 20 else f"{value:.0f}")
BYTES: Final = Unit("bytes/insn", lambda value: f"{value:.5f}" if value < 1 else f"{value:.1f}")
SECONDS: Final = Unit("s", lambda value: f"{value:.2f} s" if value >= 0.1 else f"{value:.3f} s")
MIB: Final = Unit("MiB", lambda value: f"{value:.1f} MiB")
INSNS_PER_S: Final = Unit("insns/s", lambda value: f"{value / 1e9:.2f} G/s", more_is_better=True)


@dataclass(frozen=True)
class Row:
    """One measured number."""

    what: str
    where: str
    """QEMU and program that it was measured with."""
    unit: Unit
    spread: Spread
    must: float | None = None
    """The limit; None: for comparison only."""
    aim: float | None = None
    note: str = ""

    @property
    def mark(self) -> str:
        """`aim`: as good as it should be; `ok`: as it must be; `MISSED`; empty without limits."""
        if self.must is None:
            return ""
        if self.aim is not None and self._reaches(self.aim):
            return "aim"
        return "ok" if self._reaches(self.must) else "MISSED"

    def cells(self) -> list[str]:
        """The row as written, in the order of `HEADS`."""
        write = self.unit.write
        limits = ["" if limit is None else write(limit) for limit in (self.must, self.aim)]
        spread = f"{write(self.spread.low)} - {write(self.spread.high)}"
        return [
            self.what,
            self.where,
            write(self.spread.median),
            spread if self.spread.n > 1 else "",
            str(self.spread.n),
            *limits,
            self.mark,
            self.note,
        ]

    def to_json(self) -> dict[str, Any]:
        """The row with numbers as measured."""
        return {
            "what": self.what,
            "where": self.where,
            "unit": self.unit.name,
            **asdict(self.spread),
            "must": self.must,
            "aim": self.aim,
            "mark": self.mark,
            "note": self.note,
        }

    def _reaches(self, limit: float) -> bool:
        median = self.spread.median
        return median >= limit if self.unit.more_is_better else median <= limit


HEADS: Final = ("measured", "with", "median", "min - max", "n", "must", "aim", "", "note")
_RIGHT: Final = frozenset({"median", "min - max", "n", "must", "aim"})


def in_order(rows: Sequence[Row]) -> list[Row]:
    """The rows with those of the same `what` together, otherwise as they come."""
    order = list(dict.fromkeys(row.what for row in rows))
    return sorted(rows, key=lambda row: order.index(row.what))


def text(rows: Sequence[Row]) -> str:
    """The rows as a table for a terminal."""
    columns = [Column(head, "right" if head in _RIGHT else "left") for head in HEADS]
    return plain_table(Table("", columns, [row.cells() for row in rows]), None)


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    rules = ["--:" if head in _RIGHT else "---" for head in HEADS]
    lines = [list(HEADS), rules, *(row.cells() for row in rows)]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def as_json(rows: Sequence[Row], machine: dict[str, Any]) -> dict[str, Any]:
    """All that was measured, and on what machine."""
    return {"machine": machine, "rows": [row.to_json() for row in rows]}
