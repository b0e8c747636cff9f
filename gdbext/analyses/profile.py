# SPDX-License-Identifier: GPL-2.0-or-later
"""Where instructions were spent: by function, in all and in each task and handler."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gdbext.analyses.inlined import is_outermost
from gdbext.analyses.refs import numbered
from gdbext.analyses.repairs import TREE_LIMITS, repairs_of
from gdbext.replay.calls import Cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdbext.analyses.program import Program
    from gdbext.replay.calls import TreeRow

__all__ = ["Profile", "ProfileContext", "ProfileRow", "report_profile"]


@dataclass(frozen=True)
class ProfileRow:
    """One function that ran; address is None for code that no function holds."""

    name: str
    address: int | None
    file: str | None
    calls: int
    """Times it was entered, as a handler too."""
    self_insns: int
    inclusive_insns: int
    """With what it called, handlers that interrupted it left out; recursion counts once."""
    inlined: bool = False
    """Where the compiler made it part of others' code; its own code has a row of its own."""

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


@dataclass(frozen=True)
class ProfileContext:
    """What ran below tasks that begin with one function, or in one handler."""

    name: str
    address: int | None
    file: str | None
    kind: str
    """`task`, `interrupt` or `exception`."""
    insns: int
    functions: tuple[ProfileRow, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


@dataclass(frozen=True)
class Profile:
    """Most self instructions first; those of `functions` add up to `instructions`."""

    instructions: int
    functions: tuple[ProfileRow, ...]
    contexts: tuple[ProfileContext, ...]
    """Their `insns` add up to `instructions` too."""
    repairs: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "gdbext/profile/1"."""
        return {
            "instructions": self.instructions,
            "functions": [row.to_json() for row in self.functions],
            "contexts": [context.to_json() for context in self.contexts],
            "limits": dict(TREE_LIMITS),
            "repairs": self.repairs,
        }


def report_profile(program: Program) -> Profile:
    """Answer `profile`."""
    nodes = program.calls.nodes
    contexts = []
    for (number, kind), costs in _costs_by_root(nodes).items():
        name = numbered(program, number)
        insns = sum(cost.self_insns for cost in costs.values())
        contexts.append(ProfileContext(*name, kind, insns, _rows(program, costs)))
    return Profile(
        instructions=program.tables.instructions,
        functions=_rows(program, dict(enumerate(program.calls.costs))),
        contexts=tuple(sorted(contexts, key=lambda c: (-c.insns, c.address or 0, c.kind))),
        repairs=repairs_of(program),
    )


def _rows(program: Program, costs: dict[int, Cost]) -> tuple[ProfileRow, ...]:
    rows = [
        ProfileRow(
            *numbered(program, number), *cost, program.numbers.inlined_name(number) is not None
        )
        for number, cost in costs.items()
        if cost.calls or cost.inclusive_insns
    ]
    return tuple(sorted(rows, key=lambda r: (-r.self_insns, -r.inclusive_insns, r.address or 0)))


def _costs_by_root(nodes: Sequence[TreeRow]) -> dict[tuple[int, str], dict[int, Cost]]:
    """Costs by function number, for each function and kind at the top of the tree."""
    result: dict[tuple[int, str], dict[int, Cost]] = {}
    root_of: list[dict[int, Cost]] = [{}]
    for n in range(1, len(nodes)):
        row = nodes[n]
        if row.parent == 0:
            key = (row.function, row.kind.name.lower())
            root_of.append(result.setdefault(key, {}))
        else:
            root_of.append(root_of[row.parent])
        costs = root_of[n]
        before = costs.get(row.function, Cost(0, 0, 0))
        inclusive = row.inclusive_insns if is_outermost(nodes, n) else 0
        costs[row.function] = Cost(
            before.calls + row.calls,
            before.self_insns + row.self_insns,
            before.inclusive_insns + inclusive,
        )
    return result
