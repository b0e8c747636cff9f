# SPDX-License-Identifier: GPL-2.0-or-later
"""What a function called, from where, how often, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gdbext.analyses.refs import FunctionRef, Site, function_ref, site_at
from gdbext.analyses.repairs import repairs_of

if TYPE_CHECKING:
    from gdbext.analyses.program import Program
    from gdbext.symbols import Function

__all__ = ["Callee", "CalleesReport", "callees_of", "report_callees"]


@dataclass(frozen=True)
class Callee:
    """A function that was entered from here; the counts of its `sites` add up to `calls`."""

    function: FunctionRef
    calls: int
    inclusive_insns: int | None = None
    """In it and what it called, when called from here; None where the tree does not tell."""
    sites: tuple[Site, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """{function, calls, inclusive_insns, sites[]}."""
        return {
            "function": self.function.to_json(),
            "calls": self.calls,
            "inclusive_insns": self.inclusive_insns,
            "sites": [site.to_json() for site in self.sites],
        }


@dataclass(frozen=True)
class CalleesReport:
    """Callees of one function, most often called first."""

    function: FunctionRef
    calls: int
    """Times the function itself was entered."""
    self_insns: int
    inclusive_insns: int
    callees: tuple[Callee, ...]
    repairs: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "gdbext/callees/1"."""
        return {
            "function": self.function.to_json(),
            "calls": self.calls,
            "self_insns": self.self_insns,
            "inclusive_insns": self.inclusive_insns,
            "callees": [callee.to_json() for callee in self.callees],
            "repairs": self.repairs,
        }


def report_callees(program: Program, function: Function) -> CalleesReport:
    """Answer `callees`."""
    cost = program.calls.costs[program.numbers.number_at(function.address)]
    return CalleesReport(
        function=function_ref(program.symbols, function, function.address),
        calls=cost.calls,
        self_insns=cost.self_insns,
        inclusive_insns=cost.inclusive_insns,
        callees=callees_of(program, function),
        repairs=repairs_of(program),
    )


def callees_of(program: Program, function: Function) -> tuple[Callee, ...]:
    """Functions entered from this one's code, most often first."""
    symbols = program.symbols
    number = program.numbers.number_at(function.address)
    callees = []
    for address, arrivals in program.entries.arrivals.items():
        sites = [
            site_at(symbols, site, n)
            for site, n in arrivals.sites.items()
            if n and symbols.function_at(site) is function
        ]
        if sites:
            callee = program.numbers.number_at(address)
            callees.append(
                Callee(
                    function_ref(symbols, symbols.function_at(address), address),
                    sum(site.count for site in sites),
                    program.arc_insns.get((number, callee)),
                    tuple(sorted(sites, key=lambda site: (-site.count, site.address))),
                )
            )
    return tuple(sorted(callees, key=lambda callee: (-callee.calls, callee.function)))
