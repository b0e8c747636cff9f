# SPDX-License-Identifier: GPL-2.0-or-later
"""The language of expectations: comparisons of answers, such as `calls(malloc) == calls(free)`.

    expression = and { "or" and }            and   = not { "and" not }
    not        = ["not"] comparison          comparison = sum [ operator sum ]
    operator   = == != < <= > >= contains matches
    sum        = product { (+|-) product }   product = factor { (*|/|%) factor }
    factor     = [-] ( number | text | true | false | "(" expression ")" | answer )
    answer     = name [ "(" argument { "," argument } ")" ] [ "." name ]

An argument is a text in quotes, or a word: functions are named without quotes. Numbers may be
hexadecimal, and may end in k, M or G. Nothing here can do anything but compare.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from gdbext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Answer", "Answers", "Expression", "Outcome", "Result", "parse_expression"]

Result = int | float | str | bool


@dataclass(frozen=True)
class Answer:
    """A question in an expression: a name, its arguments, and which part of the answer."""

    name: str
    arguments: tuple[str, ...]
    part: str
    """The word after the dot; empty if there is none."""
    text: str
    """As it is written in the expression."""


class Answers(Protocol):
    """Who knows the answers."""

    def answer(self, asked: Answer) -> Result:
        """The answer; raises GdbextError where there is none."""


@dataclass
class Outcome:
    """Whether an expectation holds, with the answers that decided it."""

    holds: bool
    expression: str
    answers: dict[str, Result] = field(default_factory=dict)
    """By how the question is written."""

    def explain(self) -> str:
        """One line: what was expected and what was found."""
        found = [f"{text} is {_shown(result)}" for text, result in self.answers.items()]
        if not found:
            return f"expected {self.expression}, which never holds"
        return f"expected {self.expression}, but {' and '.join(found)}"


class Expression:
    """A parsed expression."""

    def __init__(self, text: str, root: _Term, answers: tuple[Answer, ...]) -> None:
        self.text = text
        self.answers = answers
        """Every question in it, in order."""
        self._root = root

    def check(self, source: Answers) -> Outcome:
        """Evaluate it as a condition.

        Raises:
            UsageError: it is no condition, or compares what cannot be compared.
            GdbextError: a question has no answer.
        """
        outcome = Outcome(False, self.text)
        result = self._root.value(_Run(source, outcome.answers))
        if not isinstance(result, bool):
            raise UsageError(f"'{self.text}' is {_shown(result)}, not a condition; compare it")
        outcome.holds = result
        return outcome

    def value(self, source: Answers) -> Result:
        """Evaluate it. Raises: as `check`."""
        return self._root.value(_Run(source, {}))


def parse_expression(text: str) -> Expression:
    """Parse an expectation.

    Raises:
        UsageError: it is not one; the text says where.
    """
    parser = _Parser(text)
    root = parser.parse()
    return Expression(text.strip(), root, tuple(parser.answers))


# Evaluation.


@dataclass
class _Run:
    source: Answers
    found: dict[str, Result]

    def ask(self, asked: Answer) -> Result:
        if asked.text not in self.found:
            self.found[asked.text] = self.source.answer(asked)
        return self.found[asked.text]


class _Term(Protocol):
    def value(self, run: _Run) -> Result: ...


@dataclass(frozen=True)
class _Literal:
    result: Result

    def value(self, run: _Run) -> Result:
        return self.result


@dataclass(frozen=True)
class _Question:
    asked: Answer

    def value(self, run: _Run) -> Result:
        return run.ask(self.asked)


@dataclass(frozen=True)
class _Not:
    term: _Term

    def value(self, run: _Run) -> Result:
        return not _condition(self.term.value(run), "not")


@dataclass(frozen=True)
class _Minus:
    term: _Term

    def value(self, run: _Run) -> Result:
        return -_number(self.term.value(run), "-")


@dataclass(frozen=True)
class _Pair:
    """Two terms with an operator; `and` and `or` look at the second one only where it matters."""

    operator: str
    left: _Term
    right: _Term

    def value(self, run: _Run) -> Result:
        operator = self.operator
        left = self.left.value(run)
        if operator in ("and", "or"):
            if _condition(left, operator) == (operator == "or"):
                return left
            return _condition(self.right.value(run), operator)
        right = self.right.value(run)
        if operator in ("contains", "matches"):
            return _search(operator, left, right)
        if operator in ("==", "!="):
            if isinstance(left, str) != isinstance(right, str):
                raise UsageError(
                    f"{_shown(left)} {operator} {_shown(right)}: a text and a number are never "
                    "compared; quote both or none"
                )
            return (left == right) == (operator == "==")
        return _calculated(operator, left, right)


def _calculated(operator: str, left: Result, right: Result) -> Result:
    if isinstance(left, str) and isinstance(right, str) and operator == "+":
        return left + right
    a, b = _number(left, operator), _number(right, operator)
    if operator in ("/", "%") and b == 0:
        raise UsageError(f"{_shown(left)} {operator} 0: division by zero")
    results: dict[str, Result] = {
        "<": a < b,
        "<=": a <= b,
        ">": a > b,
        ">=": a >= b,
        "+": a + b,
        "-": a - b,
        "*": a * b,
        "/": a / b if b else 0,
        "%": a % b if b else 0,
    }
    return results[operator]


def _search(operator: str, left: Result, right: Result) -> bool:
    if not isinstance(left, str) or not isinstance(right, str):
        raise UsageError(f"{_shown(left)} {operator} {_shown(right)}: both must be texts")
    if operator == "contains":
        return right in left
    try:
        return re.search(right, left, re.MULTILINE) is not None
    except re.error as error:
        raise UsageError(f"{_shown(right)} is no regular expression: {error}") from None


def _condition(result: Result, operator: str) -> bool:
    if not isinstance(result, bool):
        raise UsageError(f"{_shown(result)} is not a condition that `{operator}` could take")
    return result


def _number(result: Result, operator: str) -> int | float:
    if isinstance(result, str | bool):
        raise UsageError(f"{_shown(result)} is not a number that `{operator}` could take")
    return result


def _shown(result: Result) -> str:
    if isinstance(result, bool):
        return "true" if result else "false"
    if isinstance(result, str):
        if len(result) > _SHOWN_LETTERS:
            return f"a text of {len(result):,} letters that ends {result[-_SHOWN_LETTERS:]!r}"
        return repr(result)
    return f"{result:,}" if isinstance(result, int) else f"{result:.6g}"


_SHOWN_LETTERS: Final = 120

# Parsing.

_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<number>0[xX][0-9a-fA-F_]+|\d[\d_]*(?:\.\d+)?[kMG]?(?![\w]))
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<operator>==|!=|<=|>=|[<>+\-*/%(),.])
    | (?P<word>[A-Za-z_$][\w$]*)
    )""",
    re.VERBOSE,
)
# An argument without quotes: a function's name with what C++, Rust and FILE:NAME put into it.
_ARGUMENT: Final = re.compile(r"\s*(?:(0x[0-9a-fA-F]+)|([\w$.:/<>~&*@+-]+))\s*(?=[,)])")
_SCALES: Final = {"k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
_KEYWORDS: Final = ("and", "or", "not", "contains", "matches", "true", "false")


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.answers: list[Answer] = []

    def parse(self) -> _Term:
        term = self._or()
        if self._rest().strip():
            raise self._error("an operator or the end")
        return term

    def _or(self) -> _Term:
        term = self._and()
        while self._take("or"):
            term = _Pair("or", term, self._and())
        return term

    def _and(self) -> _Term:
        term = self._not()
        while self._take("and"):
            term = _Pair("and", term, self._not())
        return term

    def _not(self) -> _Term:
        if self._take("not"):
            return _Not(self._not())
        return self._comparison()

    def _comparison(self) -> _Term:
        term = self._sum()
        operators = ("==", "!=", "<=", ">=", "<", ">", "contains", "matches")
        for operator in self._taken(*operators):
            term = _Pair(operator, term, self._sum())
            if any(self._peek() == other for other in operators):
                raise self._error("`and`, `or` or the end (compare two things at a time)")
            break
        return term

    def _sum(self) -> _Term:
        term = self._product()
        for operator in self._taken("+", "-"):
            term = _Pair(operator, term, self._product())
        return term

    def _product(self) -> _Term:
        term = self._factor()
        for operator in self._taken("*", "/", "%"):
            term = _Pair(operator, term, self._factor())
        return term

    def _factor(self) -> _Term:
        if self._take("-"):
            return _Minus(self._factor())
        if self._take("("):
            term = self._or()
            self._expect(")")
            return term
        match = _TOKEN.match(self._text, self._at)
        if match is None or match["operator"]:
            raise self._error("a number, a text or a question")
        if match["number"]:
            self._at = match.end()
            return _Literal(_number_of(match["number"]))
        if match["text"]:
            self._at = match.end()
            return _Literal(_unquoted(match["text"]))
        word = match["word"]
        if word in ("true", "false"):
            self._at = match.end()
            return _Literal(word == "true")
        if word in _KEYWORDS:
            raise self._error("a number, a text or a question")
        return _Question(self._question(match))

    def _question(self, match: re.Match[str]) -> Answer:
        start = match.start("word")
        self._at = match.end()
        arguments: list[str] = []
        if self._take("("):
            while not self._take(")"):
                if arguments:
                    self._expect(",")
                arguments.append(self._argument())
        part = ""
        if self._take("."):
            word = _TOKEN.match(self._text, self._at)
            if word is None or not word["word"]:
                raise self._error("a name after the dot")
            part = word["word"]
            self._at = word.end()
        text = self._text[start : self._at].strip()
        answer = Answer(match["word"], tuple(arguments), part, text)
        self.answers.append(answer)
        return answer

    def _argument(self) -> str:
        match = _TOKEN.match(self._text, self._at)
        if match is not None and match["text"]:
            self._at = match.end()
            return _unquoted(match["text"])
        bare = _ARGUMENT.match(self._text, self._at)
        if bare is None:
            raise self._error("a name, or a text in quotes")
        self._at = bare.end()
        return bare[1] or bare[2]

    def _rest(self) -> str:
        return self._text[self._at :]

    def _peek(self) -> str | None:
        """The next token if it is an operator or a word."""
        match = _TOKEN.match(self._text, self._at)
        return (match["operator"] or match["word"]) if match is not None else None

    def _take(self, token: str) -> bool:
        match = _TOKEN.match(self._text, self._at)
        if match is None or token not in (match["operator"], match["word"]):
            return False
        self._at = match.end()
        return True

    def _taken(self, *tokens: str) -> Iterator[str]:
        """Take and yield operators as long as one of these comes."""
        while (found := self._peek()) in tokens:
            assert found is not None
            self._take(found)
            yield found

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise self._error(f"`{token}`")

    def _error(self, wanted: str) -> UsageError:
        rest = self._rest().strip()
        found = f"'{rest}'" if rest else "its end"
        return UsageError(f"'{self._text.strip()}': {wanted} should come where {found} is")


def _number_of(text: str) -> int | float:
    plain = text.replace("_", "")
    if plain[:2] in ("0x", "0X"):
        return int(plain, 16)
    scale = _SCALES.get(plain[-1])
    if scale is not None:
        return round(float(plain[:-1]) * scale)
    return float(plain) if "." in plain else int(plain)


def _unquoted(text: str) -> str:
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(
        r"\\(.)", lambda match: escapes.get(match[1], match[1]), text[1:-1], flags=re.DOTALL
    )
