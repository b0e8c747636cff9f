# SPDX-License-Identifier: GPL-2.0-or-later
"""Decisions with their conditions: condition coverage and MC/DC as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.render.coverage import ratio, short_paths
from gdbext.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gdbext.coverage.decisions.mcdc import Pair
    from gdbext.coverage.decisions.model import (
        ConditionCoverage,
        ConditionsReport,
        DecisionCoverage,
        FileDecisions,
        UnprovenDecision,
    )
    from gdbext.render.page import Page

__all__ = ["render_conditions"]


def render_conditions(
    page: Page, report: ConditionsReport, at_most: int | None, *, only_missing: bool = False
) -> None:
    """Print totals, then each decision.

    Args:
        at_most: decisions shown.
        only_missing: leave out decisions of which all conditions are shown.
    """
    totals, excluded = report.totals(), report.totals(excluded=True)
    page.line(f"conditions    {ratio(totals.conditions)} outcomes")
    page.line(f"MC/DC         {ratio(totals.mcdc)} conditions shown")
    page.line(
        f"decisions     {amount(totals.decisions)} measured, {amount(totals.not_provable)} not "
        "provable, which are in no percentage"
    )
    if excluded.decisions or excluded.not_provable:
        number = excluded.decisions + excluded.not_provable
        page.line(f"excluded, with a reason: {amount(number)} decisions")
    for path in report.missing_files:
        page.line(f"{path}: no such source: its decisions are not known (--source-map FROM=TO)")
    left = at_most if at_most is not None else -1
    hidden = 0
    for file, short in zip(
        report.files, short_paths([file.path for file in report.files]), strict=True
    ):
        shown = [one for one in _decisions(file) if not (only_missing and _is_whole(one))]
        cut = shown if left < 0 else shown[:left]
        hidden += len(shown) - len(cut)
        left -= len(cut) if left > 0 else 0
        for decision in cut:
            page.line("")
            for line in _decision(short, decision):
                page.line(line)
    unproven = [
        (short, one)
        for file, short in zip(
            report.files, short_paths([file.path for file in report.files]), strict=True
        )
        for one in file.not_provable
        if one.excluded is None
    ]
    if unproven:
        page.line("")
        page.line("not provable:")
    cut_unproven = unproven if at_most is None else unproven[:at_most]
    hidden += len(unproven) - len(cut_unproven)
    for short, other in cut_unproven:
        page.line(f"  {_where(short, other)}: {other.reason}")
    if hidden:
        page.line(f"... {amount(hidden)} more decisions: name a function or a file")


def _decisions(file: FileDecisions) -> Iterator[DecisionCoverage]:
    return (one for one in file.decisions if one.excluded is None)


def _is_whole(decision: DecisionCoverage) -> bool:
    return all(condition.pair is not None for condition in decision.conditions)


def _where(path: str, decision: DecisionCoverage | UnprovenDecision) -> str:
    text = decision.text if len(decision.text) <= 60 else f"{decision.text[:57]}..."
    kind = "" if decision.kind == "value" else f"{decision.kind} "
    return f"{path}:{decision.line}:{decision.column} {kind}{text}"


def _decision(path: str, decision: DecisionCoverage) -> Iterator[str]:
    shown = decision.totals.mcdc
    yield _where(path, decision)
    yield (
        f"  MC/DC {shown.covered}/{shown.total}; {amount(decision.outcome(true=True))} times true, "
        f"{amount(decision.outcome(true=False))} false"
        + (f", {amount(decision.unknown)} unknown" if decision.unknown else "")
    )
    width = min(max(len(condition.text) for condition in decision.conditions), 40)
    for condition in decision.conditions:
        text = condition.text if len(condition.text) <= width else f"{condition.text[:37]}..."
        yield (
            f"  {text:{width}}  true {amount(condition.true)}, false {amount(condition.false)}  "
            f"{_proof(decision, condition)}"
        )


def _proof(decision: DecisionCoverage, condition: ConditionCoverage) -> str:
    if condition.pair is not None:
        return f"shown by {_pair(decision, condition.pair)}"
    if not condition.missing:
        return "not shown: no pair of evaluations can show it"
    return "not shown: missing " + " or ".join(_need(decision, p) for p in condition.missing)


def _pair(decision: DecisionCoverage, pair: Pair) -> str:
    return f"{decision.vectors[pair.true].values} and {decision.vectors[pair.false].values}"


def _need(decision: DecisionCoverage, pair: Pair) -> str:
    true, false = decision.vectors[pair.true], decision.vectors[pair.false]
    if true.count:
        return f"{false.values} (beside {true.values})"
    if false.count:
        return f"{true.values} (beside {false.values})"
    return _pair(decision, pair)
