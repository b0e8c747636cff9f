# SPDX-License-Identifier: GPL-2.0-or-later
"""Proves which conditional branch of the code is which condition of the source.

What has to be so is in docs/coverage.md, "Condition coverage and MC/DC".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from gdbext.coverage.decisions.expression import FALSE, TRUE, Step, graph_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdbext.coverage.decisions.machine import Landing, Machine
    from gdbext.coverage.decisions.macros import Macros
    from gdbext.coverage.decisions.source import SourceDecision
    from gdbext.coverage.decisions.tokens import Place, Tokens
    from gdbext.symbols.origins import Origin

__all__ = ["Match", "MatchedCondition", "Unproven", "match"]


class MatchedCondition(NamedTuple):
    """The branch of one condition."""

    address: int
    true_when_taken: bool


@dataclass(frozen=True)
class Match:
    """A decision whose branches are known."""

    conditions: tuple[MatchedCondition, ...]
    steps: tuple[Step, ...]


class Unproven(Exception):  # noqa: N818
    """Which branch is which condition cannot be proven; says why. Never leaves this package."""


def match(
    decision: SourceDecision,
    tokens: Tokens,
    machine: Machine,
    branches: Sequence[int],
    file: str,
    origin: Origin | None,
    macros: Macros,
) -> Match:
    """Find the branch of each condition.

    Args:
        decision: has no obstacle.
        branches: addresses of the conditional branches that lie in its region, ascending.
        file: as the line rows name it.
        origin: of the code.
        macros: that the source may use.

    Raises:
        Unproven: with the reason.
    """
    level = _level(origin)
    steps = graph_of(decision.expression)
    if len(branches) != len(steps):
        raise Unproven(_count(len(branches), len(steps)))
    landings = {
        branch: (
            machine.land(_target(machine, branch), decision.region, file, set(branches)),
            machine.land(machine.following(branch), decision.region, file, set(branches)),
        )
        for branch in branches
    }
    order = _in_order(branches, landings) if level == "g" else list(branches)
    _check_places(decision, tokens, machine, order, origin, macros)
    true, false, conditions = _fitted(decision, machine, level, order, landings, steps)
    if len(steps) == 1:
        conditions = [_oriented(decision, machine, order[0], landings)]
    else:
        _check_exits(decision, machine, true, false)
    _check_entries(machine, order, landings)
    return Match(tuple(conditions), tuple(steps))


def _level(origin: Origin | None) -> str:
    if origin is None or not origin.producer:
        raise Unproven("nothing tells how it was compiled")
    if origin.level is None:
        compiler = " ".join(origin.producer.split()[:3])
        raise Unproven(f"{compiler} did not record how far it optimised")
    if origin.level not in ("0", "g"):
        raise Unproven(f"optimised code (-O{origin.level}); build with -O0 or -Og")
    return origin.level


def _count(branches: int, conditions: int) -> str:
    have = "1 conditional branch" if branches == 1 else f"{branches} conditional branches"
    want = "1 condition" if conditions == 1 else f"{conditions} conditions"
    why = (
        "the compiler joined or dropped some"
        if branches < conditions
        else "a macro, or a condition that takes several, or code that the compiler doubled"
    )
    return f"{have} for {want}: {why}"


def _target(machine: Machine, branch: int) -> int:
    target = machine.target(branch)
    if target is None:
        raise Unproven(f"the branch at {branch:#x} has no fixed target")
    return target


def _in_order(branches: Sequence[int], landings: dict[int, tuple[Landing, Landing]]) -> list[int]:
    """In the order of evaluation: each leads to the next; only one way through all is allowed."""
    leads = {b: {way.branch for way in landings[b]} - {None} for b in branches}
    entries = [b for b in branches if not any(b in leads[other] for other in branches)]
    if len(entries) != 1:
        raise Unproven("its branches have no single beginning")
    order, left = entries, set(branches) - set(entries)
    while left:
        following = [b for b in left if not any(b in leads[other] for other in left)]
        if len(following) != 1 or following[0] not in leads[order[-1]]:
            raise Unproven("its branches do not follow one another as the conditions do")
        order.append(following[0])
        left.remove(following[0])
    return order


def _check_places(
    decision: SourceDecision,
    tokens: Tokens,
    machine: Machine,
    order: Sequence[int],
    origin: Origin | None,
    macros: Macros,
) -> None:
    """Each branch lies at its condition and has a line row of its own, or GCC has placed it at an
    operator around. No name may be a macro that hides further operators."""
    assert origin is not None
    exact = True
    for branch, condition in zip(order, decision.conditions, strict=True):
        place = machine.place_at(branch)
        around = (*condition.operators, *decision.marks)
        own = place is not None and condition.zone <= place <= condition.last
        exact = exact and own
        if not own and place not in around:
            raise Unproven("a branch lies at no operator of its condition")
    if not exact and not origin.is_gcc:
        raise Unproven("columns do not tell its conditions apart")
    rows = {row.start for branch in order if (row := machine.row_at(branch)) is not None}
    if len(rows) != len(order):
        raise Unproven("a line row holds several branches: a condition takes several")
    if len(order) > 1:
        _check_names(decision, tokens, origin, macros)


def _check_names(decision: SourceDecision, tokens: Tokens, origin: Origin, macros: Macros) -> None:
    for condition in decision.conditions:
        for at in range(condition.first, condition.end):
            item = tokens.items[at]
            if item.kind != "name" or tokens.items[at - 1].text in (".", "->"):
                continue
            if macros.hides_operators(item.text, origin.names):
                raise Unproven(f"the macro {item.text} holds further operators")
            if not macros.is_plain(item.text, origin.names):
                raise Unproven(f"{item.text} may be a macro with further operators")


def _fitted(
    decision: SourceDecision,
    machine: Machine,
    level: str,
    order: Sequence[int],
    landings: dict[int, tuple[Landing, Landing]],
    steps: Sequence[Step],
) -> tuple[int, int, list[MatchedCondition]]:
    """`_isomorphic`, with ways on that are one if they begin alike, or lead to the same place."""
    exits = {way.exit: way for ways in landings.values() for way in ways if way.branch is None}
    try:
        return _isomorphic(order, landings, steps, {address: address for address in exits})
    except Unproven:
        if len(exits) < 3:
            raise
    try:
        return _isomorphic(order, landings, steps, {at: way.to for at, way in exits.items()})
    except Unproven:
        if level == "0" or decision.kind in ("value", "?:"):
            raise
    return _isomorphic(order, landings, steps, _merged(decision, machine, exits))


def _merged(
    decision: SourceDecision, machine: Machine, exits: dict[int, Landing]
) -> dict[int, int]:
    """By address outside: the one that stands for it. -Og has the same code several times behind
    a decision (a value is set on each way): what the source has if it is true is one, and so is
    the rest, which must begin at one place of the source."""
    found: dict[bool, tuple[Place | None, int]] = {}
    result = {}
    for address in sorted(exits):
        then, place = _is_then(decision, machine, exits[address]), machine.place_at(address)
        if then is None or found.setdefault(then, (place, address))[0] != place:
            raise Unproven("where it is true, or false, there are several ways on")
        result[address] = found[then][1]
    return result


def _isomorphic(
    order: Sequence[int],
    landings: dict[int, tuple[Landing, Landing]],
    steps: Sequence[Step],
    ways_on: dict[int, int],
) -> tuple[int, int, list[MatchedCondition]]:
    """Fit the branches to the conditions; the addresses where it is true and false, too."""
    number = {branch: index for index, branch in enumerate(order)}
    conditions: list[MatchedCondition] = []
    exits: dict[int, set[int]] = {TRUE: set(), FALSE: set()}
    last = len(order) - 1

    def leads(landing: Landing, at: int) -> tuple[int | None, int]:
        """The number of the next condition, or None and the address outside."""
        to = None if landing.branch is None else number[landing.branch]
        if to is None or to > at:
            return to, ways_on.get(landing.exit, -1)
        if to:
            raise Unproven("its branches go back into its middle")
        return None, -1  # round a loop that has no body

    for at in range(last + 1):
        step = steps[at]
        taken, fallen = (leads(landing, at) for landing in landings[order[at]])
        if at < last:
            onward = [outcome for outcome, (to, _) in enumerate((taken, fallen)) if to == at + 1]
            if len(onward) != 1:
                raise Unproven("its branches do not follow one another as the conditions do")
            true_when_taken = (onward[0] == 0) == (step.true == at + 1)
        else:
            true_when_taken = _last_orientation(taken[1], fallen[1], step, exits, last)
        both = (taken, fallen) if true_when_taken else (fallen, taken)
        for wanted, (to, address) in zip(step, both, strict=True):
            if wanted < 0:
                if to is not None:
                    raise Unproven("its branches lead elsewhere than the conditions do")
                exits[wanted].add(address)
            elif to != wanted:
                raise Unproven("its branches lead elsewhere than the conditions do")
        conditions.append(MatchedCondition(order[at], true_when_taken))
    if len(exits[TRUE]) != 1 or len(exits[FALSE]) != 1 or exits[TRUE] == exits[FALSE]:
        raise Unproven("where it is true, or false, there are several ways on")
    return exits[TRUE].pop(), exits[FALSE].pop(), conditions


def _last_orientation(
    taken: int, fallen: int, step: Step, exits: dict[int, set[int]], last: int
) -> bool:
    """Of the last condition: it leads where conditions before it have led."""
    if not last:
        return True  # told by where it leads in the source
    when_taken = {
        outcome
        for outcome in (TRUE, FALSE)
        if taken in exits[outcome] or fallen in exits[FALSE if outcome == TRUE else TRUE]
    }
    if len(when_taken) != 1:
        raise Unproven("nothing tells where it is true and where false")
    return (step.true == TRUE) == (when_taken == {TRUE})


def _oriented(
    decision: SourceDecision,
    machine: Machine,
    branch: int,
    landings: dict[int, tuple[Landing, Landing]],
) -> MatchedCondition:
    """Of a single condition: it is true where the body is."""
    taken, fallen = (_is_then(decision, machine, way) for way in landings[branch])
    if taken is None or fallen is None or taken == fallen:
        raise Unproven("nothing tells where it is true and where false")
    true_when_taken = taken
    if graph_of(decision.expression)[0].true == FALSE:  # `!a`
        true_when_taken = not true_when_taken
    return MatchedCondition(branch, true_when_taken)


def _is_then(decision: SourceDecision, machine: Machine, way: Landing) -> bool | None:
    """Whether this way leads to what is done if the decision is true; None: nothing tells."""
    if way.branch is not None:
        return True if decision.kind in ("while", "for", "do") else None
    place = machine.place_at(way.exit)
    if place is None or decision.then is None:
        return None
    if decision.then.holds(place):
        return True
    if decision.otherwise is not None and decision.otherwise.holds(place):
        return False
    if decision.statement.holds(place):  # the third part of a `for`
        return True if decision.kind == "for" else None
    return None if decision.kind == "?:" else False


def _check_exits(decision: SourceDecision, machine: Machine, true: int, false: int) -> None:
    """What the source has behind the decision must not say the contrary."""
    if decision.then is None:
        return
    places = [machine.place_at(address) if address >= 0 else None for address in (true, false)]
    at_true, at_false = places
    false_then = at_false is not None and decision.then.holds(at_false)
    true_then = at_true is not None and decision.then.holds(at_true)
    true_else = (
        decision.otherwise is not None and at_true is not None and decision.otherwise.holds(at_true)
    )
    if (false_then and not true_then) or true_else:
        raise Unproven("its branches lead elsewhere than the source does")


def _check_entries(
    machine: Machine, order: Sequence[int], landings: dict[int, tuple[Landing, Landing]]
) -> None:
    """Later conditions are reached from earlier ones only."""
    first = order[0]
    own = set(order)
    inside: set[int] = set()
    for branch in order:
        for way in landings[branch]:
            if way.branch is not None and way.branch != first:
                inside.update(way.way)
    source = machine.entered_from(inside, own) if inside else None
    if source is not None:
        raise Unproven(f"control comes into its middle from {source:#x}")
