# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds decisions in C and C++ source.

A decision is what `if`, `while`, `do`, `for` and `?:` depend on, and any other expression with `&&`
or `||`. Constants are none. Declarations and types are not understood, macros are not expanded:
what is found is a proposal that the compiled code has to agree with (matching.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from gdbext.coverage.decisions.expression import Condition, Expression
from gdbext.coverage.decisions.tokens import Place, Tokens, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["CPLUSPLUS", "Kind", "Region", "SourceDecision", "find_decisions"]

Kind = Literal["if", "while", "do", "for", "?:", "value"]
CPLUSPLUS: Final = (".cc", ".cpp", ".cxx", ".C", ".c++", ".hh", ".hpp", ".hxx", ".h++", ".ipp")

_ASSIGNMENTS: Final = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="))
_BINARY: Final = frozenset(
    (
        "==", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>",
        "&&", "||", "?", ":", ",", ".*", "->*",
    )
)  # fmt: skip
_PREFIX: Final = frozenset(("!", "~", "*", "&", "-", "+", "++", "--"))
_BORDERS: Final = frozenset((";", ",", "?", ":", "{", "}")) | _ASSIGNMENTS
_BORDER_WORDS: Final = frozenset(
    ("return", "case", "else", "do", "goto", "throw", "co_return", "co_yield", "co_await")
)
_CONSTANTS: Final = frozenset(("true", "false", "NULL", "nullptr"))
_LOGICAL: Final = ("&&", "||", "?")


@dataclass(frozen=True)
class Region:
    """Source [start, end], both characters in it."""

    start: Place
    end: Place

    def holds(self, place: Place) -> bool:
        """Whether a character is in it."""
        return self.start <= place <= self.end


@dataclass(frozen=True)
class SourceDecision:
    """A decision as the source has it."""

    kind: Kind
    text: str
    start: Place
    """Of the expression."""
    region: Region
    """Where compilers place its branches: from the keyword, or the expression, to its end."""
    expression: Expression
    conditions: tuple[Condition, ...]
    marks: tuple[Place, ...]
    """Further places that compilers give to its branches: the keyword, the `?`."""
    statement: Region
    then: Region | None
    """What is next if it is true: a body, or an operand of `?:`."""
    otherwise: Region | None
    obstacle: str | None
    """Why nothing can be proven whatever the code is like."""


def find_decisions(path: str, lines: Sequence[str]) -> tuple[list[SourceDecision], Tokens]:
    """The decisions of a file, by place.

    Args:
        path: tells C from C++.
        lines: without their ends.
    """
    finder = _Finder(tokenize(lines, cplusplus=path.endswith(CPLUSPLUS)))
    found = sorted(finder.all(), key=lambda decision: decision.start)
    return found, finder.tokens


class _Finder:
    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self._items = tokens.items
        self._known: set[int] = set()  # operators that are part of a decision

    def all(self) -> Iterator[SourceDecision]:
        """In no order."""
        do_loops = self._do_loops()
        for index, item in enumerate(self._items):
            if item.kind == "name" and item.text in ("if", "while", "for"):
                opened = index + 1
                if not self._is(opened, "(") or opened not in self.tokens.partner:
                    continue
                decision = self._control(item.text, index, opened, do_loops.get(index))
                if decision is not None:
                    yield decision
        for index, item in enumerate(self._items):
            if item.kind == "op" and item.text in _LOGICAL and index not in self._known:
                decision = self._elsewhere(index)
                if decision is not None:
                    yield decision

    def _is(self, index: int, text: str) -> bool:
        return 0 <= index < len(self._items) and self._items[index].text == text

    def _do_loops(self) -> dict[int, int]:
        """By index of the `while`: that of its `do`."""
        found = {}
        for index, item in enumerate(self._items):
            if item.kind == "name" and item.text == "do":
                end = self._statement_end(index + 1)
                if end is not None and self._is(end, "while"):
                    found[end] = index
        return found

    def _statement_end(self, index: int) -> int | None:
        """Behind the statement that begins here; None: it is not understood."""
        items, partner = self._items, self.tokens.partner
        while index < len(items):
            text = items[index].text
            if text == "{":
                return partner[index] + 1 if index in partner else None
            if text in ("if", "while", "for", "switch"):
                opened = index + (2 if self._is(index + 1, "constexpr") else 1)
                if opened not in partner:
                    return None
                end = self._statement_end(partner[opened] + 1)
                if text == "if" and end is not None and self._is(end, "else"):
                    return self._statement_end(end + 1)
                return end
            if text == "do":
                end = self._statement_end(index + 1)
                if end is None or not self._is(end, "while") or end + 1 not in partner:
                    return None
                return partner[end + 1] + 2
            if text == ";":
                return index + 1
            if text in ("(", "[", "{"):
                if index not in partner:
                    return None
                index = partner[index]
            elif text in (")", "]", "}"):
                return None
            index += 1
            while index < len(items) and items[index].text == "{":  # an initialiser, a lambda
                if index not in partner:
                    return None
                index = partner[index] + 1
        return None

    def _region(self, first: int, end: int) -> Region | None:
        return Region(self._items[first].start, self._items[end - 1].end) if first < end else None

    def _control(self, word: str, index: int, opened: int, do: int | None) -> SourceDecision | None:
        closed = self.tokens.partner[opened]
        parts = self._split(opened + 1, closed, ";")
        if word == "for":
            if len(parts) != 3:
                return None
            first, end = parts[1]
        else:
            first, end = parts[-1]
        body_end = self._statement_end(closed + 1)
        then = otherwise = None
        last = closed + 1
        if do is not None:
            then = self._region(do + 1, index)
            whole = Region(self._items[do].start, self._items[closed].end)
        else:
            if body_end is not None:
                then = self._region(closed + 1, body_end)
                last = body_end
                if word == "if" and self._is(body_end, "else"):
                    otherwise_end = self._statement_end(body_end + 1)
                    if otherwise_end is not None:
                        otherwise = self._region(body_end + 1, otherwise_end)
                        last = otherwise_end
            whole = Region(self._items[index].start, self._items[last - 1].end)
        kind: Kind = "do" if do is not None else "if" if word == "if" else "for"
        if word == "while" and do is None:
            kind = "while"
        begins = first if word == "for" else index
        marks = (self._items[index].start,)
        return self._decision(kind, first, end, begins, marks, (whole, then, otherwise))

    def _elsewhere(self, index: int) -> SourceDecision | None:
        """The decision that the operator here is part of."""
        first, end = self._extent(index)
        if not self._is(end, "?"):
            while (
                self._is(first - 1, "(")
                and self._is(end, ")")
                and self.tokens.partner.get(first - 1) == end
                and self._is(end + 1, "?")
            ):
                first, end = first - 1, end + 1
        if not self._is(end, "?"):
            whole = self._region(first, end)
            if whole is None:
                return None
            return self._decision("value", first, end, first, (), (whole, None, None))
        self._known.add(end)
        colon = self._colon(end)
        stop = self._right(colon + 1) if colon is not None else end + 1
        whole = self._region(first, stop)
        if whole is None:
            return None
        then = self._region(end + 1, colon) if colon is not None else None
        otherwise = self._region(colon + 1, stop) if colon is not None else None
        marks: tuple[Place, ...] = (self._items[end].start,)
        if colon is not None and not any(
            item.text in ("&&", "||", "?") for item in self._items[end + 1 : colon]
        ):
            marks = (*marks, self._items[colon].start)  # GCC places it there
        return self._decision("?:", first, end, first, marks, (whole, then, otherwise))

    def _colon(self, question: int) -> int | None:
        """The `:` that belongs to a `?`."""
        depth, index = 0, question + 1
        while index < len(self._items):
            text = self._items[index].text
            if text == "?":
                depth += 1
            elif text == ":":
                if not depth:
                    return index
                depth -= 1
            elif text in ("(", "[", "{") and index in self.tokens.partner:
                index = self.tokens.partner[index]
            elif text in (")", "]", "}", ";"):
                return None
            index += 1
        return None

    def _extent(self, index: int) -> tuple[int, int]:
        """The expression around an operator: tokens [first, end)."""
        while True:
            first, end = (
                self._left(index),
                self._right(index + 1 if self._is(index, "?") else index),
            )
            if self._is(index, "?"):
                end = index
            opened = first - 1
            if not (self._is(opened, "(") and self.tokens.partner.get(opened) == end):
                return first, end
            before = self._items[opened - 1].text if opened else ""
            if opened and self._is_called(opened - 1):
                return first, end
            after = self._items[end + 1].text if end + 1 < len(self._items) else ""
            if before not in ("!", "&&", "||") and after not in ("&&", "||"):
                return first, end
            # Grouping brackets in a larger one: `(a && b) || c`, `!(a && b)`.
            if (
                before == "!"
                and opened >= 2
                and self._items[opened - 2].text
                in _BINARY
                - {
                    "&&",
                    "||",
                    "?",
                    ":",
                    ",",
                }
            ):
                return first, end
            index = opened

    def _is_called(self, index: int) -> bool:
        """Whether brackets behind this token are a call's, and not for grouping."""
        item = self._items[index]
        if item.kind == "name":
            return item.text not in _BORDER_WORDS
        return item.kind == "op" and item.text in (")", "]", ">")

    def _left(self, index: int) -> int:
        at = index - 1
        while at >= 0:
            item = self._items[at]
            if item.kind == "op" and item.text in (")", "]"):
                if at not in self.tokens.partner:
                    return at + 1
                at = self.tokens.partner[at] - 1
                continue
            if item.kind == "op" and (item.text in _BORDERS or item.text in ("(", "[")):
                return at + 1
            if item.kind == "name" and item.text in _BORDER_WORDS:
                return at + 1
            at -= 1
        return 0

    def _right(self, index: int) -> int:
        at = index
        while at < len(self._items):
            item = self._items[at]
            if item.kind == "op":
                if item.text in ("(", "[", "{") and at in self.tokens.partner:
                    at = self.tokens.partner[at]
                elif item.text in _BORDERS or item.text in (")", "]"):
                    return at
            at += 1
        return at

    def _split(self, first: int, end: int, mark: str) -> list[tuple[int, int]]:
        """Tokens [first, end) cut at an operator that is in no brackets."""
        parts, begin = [], first
        for at in self._top(first, end):
            if self._is(at, mark):
                parts.append((begin, at))
                begin = at + 1
        return [*parts, (begin, end)]

    def _top(self, first: int, end: int) -> Iterator[int]:
        """Indexes in [first, end), those in brackets left out."""
        at = first
        while at < end:
            yield at
            if self._items[at].text in ("(", "[", "{") and self._items[at].kind == "op":
                at = self.tokens.partner.get(at, at)
                if at >= end:
                    return
            at += 1

    def _decision(
        self,
        kind: Kind,
        first: int,
        end: int,
        begins: int,
        marks: tuple[Place, ...],
        parts: tuple[Region, Region | None, Region | None],
    ) -> SourceDecision | None:
        region = self._region(min(begins, first), end)
        if first >= end or region is None:
            return None
        if marks and kind == "?:":
            region = Region(region.start, marks[-1])
        empty: list[int] = []
        expression = self._parse(first, end, region.start, (), empty)
        conditions = tuple(expression.conditions())
        if empty or (len(conditions) == 1 and kind == "value"):
            return None  # a declaration: `T && x`
        if all(c.end - c.first == 1 and self._is_constant(c.first) for c in conditions):
            return None
        return SourceDecision(
            kind=kind,
            text=self.tokens.text(first, end).encode("latin-1").decode("utf-8", "replace"),
            start=self._items[first].start,
            region=region,
            expression=expression,
            conditions=conditions,
            marks=marks,
            statement=parts[0],
            then=parts[1],
            otherwise=parts[2],
            obstacle=self._obstacle(conditions),
        )

    def _is_constant(self, index: int) -> bool:
        item = self._items[index]
        return item.kind == "number" or item.text in _CONSTANTS

    def _obstacle(self, conditions: Sequence[Condition]) -> str | None:
        for condition in conditions:
            texts = [self._items[at].text for at in range(condition.first, condition.end)]
            if "?" in texts:
                return f"a condition holds a ?: ({condition.text})"
            if "&&" in texts or "||" in texts:
                return f"a condition holds a decision of its own ({condition.text})"
            if "{" in texts:
                return f"a condition holds statements ({condition.text})"
        return None

    def _parse(
        self,
        first: int,
        end: int,
        zone: Place,
        operators: tuple[Place, ...],
        empty: list[int],
    ) -> Expression:
        """The expression of tokens [first, end); `empty` takes the places of missing operands."""
        outer = first, end
        while (
            end - first > 2 and self._is(first, "(") and self.tokens.partner.get(first) == end - 1
        ):
            first, end = first + 1, end - 1
        if first >= end:
            empty.append(first)
        top = {self._items[at].text for at in self._top(first, end) if self._items[at].kind == "op"}
        if not top & _ASSIGNMENTS and not top & {"?", ",", ":"}:
            for kind, mark in (("or", "||"), ("and", "&&")):
                if mark in top:
                    return self._joined(kind, mark, first, end, zone, operators, empty)
            if self._is(first, "!") and self._is_operand(first + 1, end):
                places = (*operators, self._items[first].start)
                part = self._parse(first + 1, end, zone, places, empty)
                return Expression("not", (part,))
        start = self._items[min(first, len(self._items) - 1)].start
        last = self._items[min(max(outer[1], first + 1), len(self._items)) - 1].end
        text = self.tokens.text(first, end).encode("latin-1").decode("utf-8", "replace")
        condition = Condition(text, first, end, start, zone, last, operators)
        return Expression("condition", (), condition)

    def _joined(
        self,
        kind: str,
        mark: str,
        first: int,
        end: int,
        zone: Place,
        operators: tuple[Place, ...],
        empty: list[int],
    ) -> Expression:
        cut = self._split(first, end, mark)
        ops = [stop for _, stop in cut[:-1]]
        self._known.update(ops)
        places = (*operators, *(self._items[op].start for op in ops))
        parts = []
        for index, (low, high) in enumerate(cut):
            if index:
                zone = self._items[ops[index - 1]].start
            parts.append(self._parse(low, high, zone, places, empty))
        return Expression("or" if kind == "or" else "and", tuple(parts))

    def _is_operand(self, first: int, end: int) -> bool:
        """Whether `!` in front of these tokens applies to all of them."""
        while first < end and self._items[first].text in _PREFIX:
            first += 1
        return first < end and not any(
            self._items[at].kind == "op" and self._items[at].text in _BINARY
            for at in self._top(first, end)
        )
