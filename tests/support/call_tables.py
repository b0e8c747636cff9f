# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine's tables made up for tests, from a drawing of the tree."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import cast

from gdbext.analyses.arcs import arc_insns
from gdbext.analyses.entries import Arrivals, Entries, EntryMap
from gdbext.analyses.program import Program
from gdbext.replay.calls import CallTables, Cost, HandlerRow, NodeKind, TaskRow, TreeRow
from gdbext.replay.tables import Stats
from gdbext.symbols import Function
from gdbext.symbols.objects import DataObject

__all__ = ["address_of", "drawn_tree", "made_program"]


def drawn_tree(drawing: str) -> tuple[list[str], list[TreeRow]]:
    """Names of the functions by number ([0] is nameless code), and the nodes.

    One line for each node, `KIND NAME CALLS SELF`, two more spaces for each level.
    """
    names = ["?"]
    rows: list[TreeRow] = [TreeRow(0, 0, NodeKind.ROOT, 0, 0, 0, 0)]
    path = [0]
    for line in filter(str.strip, textwrap.dedent(drawing).splitlines()):
        depth = (len(line) - len(line.lstrip())) // 2 + 1
        kind, name, calls, own = line.split()
        if name not in names:
            names.append(name)
        del path[depth:]
        fn = names.index(name)
        rows.append(
            TreeRow(path[-1], fn, NodeKind[kind.upper()], depth, int(calls), int(own), int(own))
        )
        path.append(len(rows) - 1)
    for n in range(len(rows) - 1, 0, -1):
        up = rows[rows[n].parent]
        rows[rows[n].parent] = up._replace(inclusive_insns=up.inclusive_insns + rows[n][6])
    return names, rows


def address_of(number: int) -> int:
    """Address of a made-up function: 0x100, 0x200, and so on; each has 0x40 bytes."""
    return number * 0x100


def made_program(
    drawing: str,
    *,
    costs: Mapping[str, tuple[int, int, int]] | None = None,
    handlers: Sequence[HandlerRow] = (),
    tasks: Sequence[TaskRow] = (),
    repairs: Mapping[str, int] | None = None,
    task_names: Mapping[str, str] | None = None,
    stack_of: Callable[[int], DataObject | None] = lambda stack_pointer: None,
    calls: Mapping[tuple[str, str], tuple[int, int]] | None = None,
) -> Program:
    """A program with that tree.

    Args:
        costs: by name: calls, self and inclusive instructions.
        calls: by caller and callee: counts of call instructions and of jumps, from one site each.
    """
    names, rows = drawn_tree(drawing)
    functions = [
        Function(name, name, address_of(number), 0x40) if number else None
        for number, name in enumerate(names)
    ]
    entries = EntryMap()
    for (caller, callee), (n_calls, n_jumps) in (calls or {}).items():
        start = address_of(names.index(caller))
        at = entries.arrivals.setdefault(
            address_of(names.index(callee)), Arrivals(Entries(call=n_calls, tail=n_jumps))
        )
        at.sites[start + 4] = n_calls
        at.sites[start + 8] = at.jumps[start + 8] = n_jumps
    deepest = max(range(len(rows)), key=lambda n: rows[n].depth)
    tables = CallTables(
        nodes=rows,
        costs=[Cost(*(costs or {}).get(name, (0, 0, 0))) for name in names],
        handlers=handlers,
        tasks=tasks,
        deepest=deepest,
        cut_calls=0,
    )
    made = SimpleNamespace(
        calls=tables,
        task_names=task_names or {},
        data_objects=SimpleNamespace(holding_stack=stack_of),
        arc_insns=arc_insns(rows),
        entries=entries,
        numbers=SimpleNamespace(
            functions=functions,
            number_at=lambda at: at // 0x100,
            inlined_name=lambda number: None,
        ),
        symbols=SimpleNamespace(
            function_at=lambda at: functions[at // 0x100],
            line_at=lambda at: None,
            is_code=lambda at: True,
        ),
        tables=SimpleNamespace(
            instructions=rows[0].inclusive_insns,
            stats=dataclasses.replace(Stats.zero(), **(repairs or {})),
            traps=[],
        ),
    )
    return cast(Program, made)
