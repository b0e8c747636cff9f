# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of decisions and their conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gdbext.coverage.model import Ratio

if TYPE_CHECKING:
    from gdbext.coverage.decisions.expression import Path
    from gdbext.coverage.decisions.mcdc import Pair

__all__ = [
    "ConditionCoverage",
    "ConditionsReport",
    "DecisionCoverage",
    "DecisionTotals",
    "FileDecisions",
    "UnprovenDecision",
    "Vector",
]

_NOTHING: Final = Ratio(0, 0)


@dataclass(frozen=True)
class DecisionTotals:
    """Of decisions that are proven; the others are only counted."""

    conditions: Ratio = _NOTHING
    """Outcomes seen, two for each condition."""
    mcdc: Ratio = _NOTHING
    """Conditions shown, of all."""
    decisions: int = 0
    not_provable: int = 0

    def plus(self, other: DecisionTotals) -> DecisionTotals:
        """Both added up."""
        return DecisionTotals(
            self.conditions.plus(other.conditions),
            self.mcdc.plus(other.mcdc),
            self.decisions + other.decisions,
            self.not_provable + other.not_provable,
        )

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return {
            "conditions": self.conditions.to_json(),
            "mcdc": self.mcdc.to_json(),
            "decisions": self.decisions,
            "not_provable": self.not_provable,
        }


@dataclass(frozen=True)
class Vector:
    """One way through a decision."""

    path: Path
    count: int
    """Evaluations that went it."""

    @property
    def values(self) -> str:
        """`TF-`: a letter for each condition, `-` where it was not evaluated."""
        return "".join("-" if v is None else "FT"[v] for v in self.path.values)

    def to_json(self) -> dict[str, Any]:
        """values, outcome, count."""
        return {"values": self.values, "outcome": self.path.outcome, "count": self.count}


@dataclass(frozen=True)
class ConditionCoverage:
    """One condition of a proven decision."""

    text: str
    line: int
    column: int
    address: int
    """Of its branch instruction."""
    true: int
    """Times that it was true."""
    false: int
    pair: Pair | None
    """Vectors by number that show it; None: it is not shown."""
    missing: tuple[Pair, ...]
    """Of one that is not shown: pairs that would do; some may be impossible in the program."""

    @property
    def outcomes(self) -> Ratio:
        """Outcomes seen, of two."""
        return Ratio((self.true > 0) + (self.false > 0), 2)


@dataclass(frozen=True)
class DecisionCoverage:
    """A decision whose branches are proven to be its conditions."""

    kind: str
    text: str
    line: int
    column: int
    function: str
    conditions: tuple[ConditionCoverage, ...]
    vectors: tuple[Vector, ...]
    """All there can be, also those that never were."""
    evaluations: int
    """Those that were seen to begin."""
    unknown: int
    """Executions of its branches that belong to none of `vectors`."""
    excluded: str | None = None
    """The reason."""

    @property
    def totals(self) -> DecisionTotals:
        """Of this one."""
        outcomes = _NOTHING
        for condition in self.conditions:
            outcomes = outcomes.plus(condition.outcomes)
        shown = sum(condition.pair is not None for condition in self.conditions)
        return DecisionTotals(outcomes, Ratio(shown, len(self.conditions)), 1)

    def outcome(self, *, true: bool) -> int:
        """Times that the whole decision was true, or false."""
        return sum(v.count for v in self.vectors if v.path.outcome == true)

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "conditions"."""

        def named(pair: Pair) -> dict[str, str]:
            return {
                "true": self.vectors[pair.true].values,
                "false": self.vectors[pair.false].values,
            }

        content: dict[str, Any] = {
            "line": self.line,
            "column": self.column,
            "kind": self.kind,
            "text": self.text,
            "function": self.function,
            "evaluations": self.evaluations,
            "unknown": self.unknown,
            "true": self.outcome(true=True),
            "false": self.outcome(true=False),
            "mcdc": self.totals.mcdc.to_json(),
            "conditions": [
                {
                    "text": condition.text,
                    "line": condition.line,
                    "column": condition.column,
                    "address": condition.address,
                    "true": condition.true,
                    "false": condition.false,
                    "mcdc": condition.pair is not None,
                    "pair": None if condition.pair is None else named(condition.pair),
                    "missing": [named(pair) for pair in condition.missing],
                }
                for condition in self.conditions
            ],
            "vectors": [vector.to_json() for vector in self.vectors if vector.count],
        }
        return content if self.excluded is None else {**content, "excluded": self.excluded}


@dataclass(frozen=True)
class UnprovenDecision:
    """A decision of which nothing is counted."""

    kind: str
    text: str
    line: int
    column: int
    n_conditions: int
    reason: str
    excluded: str | None = None
    """Why it does not count anyway."""

    def to_json(self) -> dict[str, Any]:
        """The fields by name; `excluded` only where it is."""
        content = {
            "line": self.line,
            "column": self.column,
            "kind": self.kind,
            "text": self.text,
            "conditions": self.n_conditions,
            "reason": self.reason,
        }
        return content if self.excluded is None else {**content, "excluded": self.excluded}


@dataclass(frozen=True)
class FileDecisions:
    """The decisions of one source file that have code, by place."""

    path: str
    decisions: tuple[DecisionCoverage, ...]
    not_provable: tuple[UnprovenDecision, ...]

    def totals(self, *, excluded: bool) -> DecisionTotals:
        """Of those that are excluded, or of the others."""
        whole = DecisionTotals()
        for decision in self.decisions:
            if (decision.excluded is not None) == excluded:
                whole = whole.plus(decision.totals)
        others = sum((one.excluded is not None) == excluded for one in self.not_provable)
        return whole.plus(DecisionTotals(not_provable=others))

    def to_json(self) -> dict[str, Any]:
        """path, totals, decisions[], not_provable[]."""
        return {
            "path": self.path,
            "totals": self.totals(excluded=False).to_json(),
            "decisions": [decision.to_json() for decision in self.decisions],
            "not_provable": [decision.to_json() for decision in self.not_provable],
        }


@dataclass(frozen=True)
class ConditionsReport:
    """The decisions of a program, or of a part of it."""

    files: tuple[FileDecisions, ...]
    missing_files: tuple[str, ...]
    """Sources that could not be read: nothing is known of their decisions."""

    def totals(self, *, excluded: bool = False) -> DecisionTotals:
        """Of those that are excluded, or of the others."""
        whole = DecisionTotals()
        for file in self.files:
            whole = whole.plus(file.totals(excluded=excluded))
        return whole

    def to_json(self) -> dict[str, Any]:
        """Shape: docs/json.md, "conditions"."""
        return {
            "totals": self.totals().to_json(),
            "excluded": self.totals(excluded=True).to_json(),
            "missing_files": list(self.missing_files),
            "files": [file.to_json() for file in self.files],
        }
