# SPDX-License-Identifier: GPL-2.0-or-later
"""Boolean expressions: in which order conditions are evaluated, and where each leads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gdbext.coverage.decisions.tokens import Place

__all__ = ["FALSE", "TRUE", "Condition", "Expression", "Path", "Step", "graph_of", "paths_of"]

TRUE: Final = -1
"""In place of a condition's number: the decision is true;"""
FALSE: Final = -2
"""or false."""


@dataclass(frozen=True)
class Condition:
    """A boolean expression without `&&`, `||`, and without `!` around it."""

    text: str
    first: int
    """Its tokens: [first, end)."""
    end: int
    start: Place
    zone: Place
    """Where the code that decides it may be placed at the earliest: the operator before it, or
    where the decision begins."""
    last: Place
    operators: tuple[Place, ...]
    """The operators that it is an operand of, directly or not."""


@dataclass(frozen=True)
class Expression:
    """`and`, `or`, `not` of expressions, or a condition."""

    kind: Literal["and", "or", "not", "condition"]
    parts: tuple[Expression, ...] = ()
    condition: Condition | None = None

    def conditions(self) -> Iterator[Condition]:
        """In the order of evaluation."""
        if self.condition is not None:
            yield self.condition
        for part in self.parts:
            yield from part.conditions()


class Step(NamedTuple):
    """Where a condition leads: the number of the next condition, TRUE or FALSE."""

    true: int
    false: int


@dataclass(frozen=True)
class Path:
    """One way through a decision.

    `values` has an item for each condition, None for those that were not evaluated.
    """

    values: tuple[bool | None, ...]
    outcome: bool
    order: tuple[int, ...] = field(default=())
    """Numbers of the evaluated conditions."""


def graph_of(expression: Expression) -> list[Step]:
    """By number of the condition; evaluation begins at 0."""
    steps: list[Step] = []

    def count(e: Expression) -> int:
        return sum(1 for _ in e.conditions())

    def place(e: Expression, number: int, true: int, false: int) -> None:
        if e.kind == "condition":
            steps.append(Step(true, false))
        elif e.kind == "not":
            place(e.parts[0], number, false, true)
        else:
            for index, part in enumerate(e.parts):
                after = number + count(part)
                if index == len(e.parts) - 1:
                    place(part, number, true, false)
                elif e.kind == "and":
                    place(part, number, after, false)
                else:
                    place(part, number, true, after)
                number = after

    place(expression, 0, TRUE, FALSE)
    return steps


def paths_of(steps: list[Step], at_most: int) -> list[Path] | None:
    """All ways through, each once; None: more than `at_most`."""
    found: list[Path] = []
    todo: list[tuple[int, tuple[bool | None, ...], tuple[int, ...]]] = [
        (0, (None,) * len(steps), ())
    ]
    while todo:
        at, values, order = todo.pop()
        if at < 0:
            found.append(Path(values, at == TRUE, order))
            if len(found) > at_most:
                return None
            continue
        for value in (False, True):
            following = steps[at].true if value else steps[at].false
            todo.append((following, (*values[:at], value, *values[at + 1 :]), (*order, at)))
    return found
