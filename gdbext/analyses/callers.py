# SPDX-License-Identifier: GPL-2.0-or-later
"""Who called a function, from where, how often."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gdbext.analyses.refs import FunctionRef, Site, function_ref, site_at
from gdbext.analyses.repairs import repairs_of

if TYPE_CHECKING:
    from gdbext.analyses.entries import Arrivals, Entries
    from gdbext.analyses.program import Program
    from gdbext.symbols import Function

__all__ = ["Caller", "CallersReport", "callers_of", "report_callers"]


@dataclass(frozen=True)
class Caller:
    """A function that called, with its call sites; their counts add up to `calls`."""

    function: FunctionRef
    calls: int
    sites: tuple[Site, ...]
    inclusive_insns: int | None = None
    """In the called function and what it called, when called from here; None: not known."""

    def to_json(self) -> dict[str, Any]:
        """{function, calls, inclusive_insns, sites[]}."""
        return {
            "function": self.function.to_json(),
            "calls": self.calls,
            "inclusive_insns": self.inclusive_insns,
            "sites": [site.to_json() for site in self.sites],
        }


@dataclass(frozen=True)
class CallersReport:
    """Callers of one function; their calls and `unattributed` add up to `calls`."""

    function: FunctionRef
    entries: Entries
    callers: tuple[Caller, ...]
    repairs: dict[str, int] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        """Entries but for traps."""
        return self.entries.calls

    @property
    def unattributed(self) -> int:
        """Calls whose caller was not recorded."""
        return self.entries.other

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "callers --json"."""
        return {
            "function": self.function.to_json(),
            "calls": self.calls,
            "entries": self.entries.to_json(),
            "unattributed": self.unattributed,
            "callers": [caller.to_json() for caller in self.callers],
            "repairs": self.repairs,
        }


def report_callers(program: Program, function: Function) -> CallersReport:
    """Answer `callers`."""
    arrivals = program.entries.of(function.address)
    return CallersReport(
        function=function_ref(program.symbols, function, function.address),
        entries=arrivals.entries,
        callers=callers_of(program, function, arrivals),
        repairs=repairs_of(program),
    )


def callers_of(program: Program, function: Function, arrivals: Arrivals) -> tuple[Caller, ...]:
    """Call sites by calling function, most calls first."""
    symbols = program.symbols
    number = program.numbers.number_at(function.address)
    by_function: dict[FunctionRef, list[Site]] = {}
    for address, n in arrivals.sites.items():
        if n:
            ref = function_ref(symbols, symbols.function_at(address), address)
            by_function.setdefault(ref, []).append(site_at(symbols, address, n))
    callers = [
        Caller(
            ref,
            sum(site.count for site in sites),
            tuple(sorted(sites, key=lambda site: (-site.count, site.address))),
            program.arc_insns.get((program.numbers.number_at(ref.address), number)),
        )
        for ref, sites in by_function.items()
    ]
    return tuple(sorted(callers, key=lambda caller: (-caller.calls, caller.function)))
