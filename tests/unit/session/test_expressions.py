# SPDX-License-Identifier: GPL-2.0-or-later
"""The language of expectations: what holds, what is found when it does not, what is refused."""

from __future__ import annotations

import pytest

from gdbext.errors import UsageError
from gdbext.session.expressions import Answer, Result, parse_expression
from gdbext.session.questions import check_questions

KNOWN: dict[str, Result] = {
    "calls(malloc)": 12,
    "calls(free)": 11,
    "executed(panic)": False,
    'irq("SysTick_Handler").max_insns': 480,
    "coverage.lines": 80.0,
    "console": "boot\nPASS 3 of 3\n",
    "rounds": 3,
}


class Known:
    """Answers from the table above; remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answer(self, asked: Answer) -> Result:
        """The answer."""
        self.asked.append(asked.text)
        return KNOWN[asked.text]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("calls(malloc) == calls(free)", False),
        ("calls(malloc) == calls(free) + 1", True),
        ("calls(malloc) - 1 == calls(free) and not executed(panic)", True),
        ("not executed(panic)", True),
        ("executed(panic) or calls(free) > 3 * 3", True),
        ('irq("SysTick_Handler").max_insns < 0.5k', True),
        ("coverage.lines >= 80", True),
        ("coverage.lines > 80", False),
        ('console contains "PASS"', True),
        ("console contains 'FAIL'", False),
        (r'console matches "^PASS \\d of \\d$"', True),
        ("(calls(malloc) + calls(free)) * 2 == 46", True),
        ("-calls(free) < 0x10", True),
        ("calls(free) % 4 == 3", True),
        ("calls(malloc) / 8 == 1.5", True),
        ("true", True),
        ("2 + 3 * 4 == 14", True),
        ("10 - 3 - 2 == 5", True),
        ("1_000 == 1k", True),
        ("rounds != 4", True),
        ("true or false and false", True),
    ],
)
def test_conditions(text: str, holds: bool) -> None:
    assert parse_expression(text).check(Known()).holds is holds


def test_failure_shows_what_was_expected_and_what_was_found() -> None:
    outcome = parse_expression("calls(malloc) == calls(free)").check(Known())

    assert outcome.explain() == (
        "expected calls(malloc) == calls(free), but calls(malloc) is 12 and calls(free) is 11"
    )


def test_failure_shows_the_end_of_a_long_text() -> None:
    known = Known()
    known.answer = lambda asked: "x" * 1000 + "end"  # type: ignore[method-assign]

    told = parse_expression('console contains "PASS"').check(known).explain()

    assert "a text of 1,003 letters that ends 'xxx" in told and told.endswith("xend'")


def test_what_does_not_matter_is_not_asked() -> None:
    known = Known()

    parse_expression("executed(panic) and calls(free) > 1").check(known)

    assert known.asked == ["executed(panic)"]


@pytest.mark.parametrize(
    "text",
    [
        "calls(heap.c:malloc) > 1",
        "calls(operator<<) > 1",
        "calls(Foo::bar<int>) == 1",
        "calls(~X)>0",
    ],
)
def test_names_of_functions_need_no_quotes(text: str) -> None:
    expression = parse_expression(text)

    assert expression.answers[0].arguments == (text[text.index("(") + 1 : text.rindex(")")],)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "a number, a text or a question should come where its end is"),
        ("calls(malloc) ==", "should come where its end is"),
        ("calls(malloc", "a name, or a text in quotes"),
        ("1 < 2 < 3", "compare two things at a time"),
        ("calls(f) = 3", "an operator or the end should come where '= 3' is"),
        ("calls(f) > 3 calls(g)", "an operator or the end should come where 'calls(g)' is"),
        ("and 1", "a number, a text or a question should come where 'and 1' is"),
        ("__import__('os').system('x') == 0", "an operator or the end"),
        ("(1 == 1", "`)` should come where its end is"),
        ("stop. == 1", "a name after the dot"),
        ("12abc == 1", "a number, a text or a question"),
    ],
)
def test_what_is_no_expression_says_where(text: str, wrong: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_expression(text)

    assert wrong in str(raised.value)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("calls(malloc)", "'calls(malloc)' is 12, not a condition"),
        ("not calls(malloc)", "12 is not a condition that `not` could take"),
        ("console == 3", "a text and a number are never compared"),
        ("console > 3", "is not a number"),
        ("rounds contains 3", "both must be texts"),
        ("rounds / 0 == 1", "division by zero"),
        ("console matches '('", "is no regular expression"),
    ],
)
def test_conditions_that_make_no_sense(text: str, wrong: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_expression(text).check(Known())

    assert wrong in str(raised.value)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("call(malloc) > 1", "unknown question 'call'; did you mean 'calls'?"),
        ("calls(f, g) > 1", "'calls(f, g)': write calls(F)"),
        ("calls > 1", "'calls': write calls(F)"),
        ('irq("h").max > 1', "no part 'max'; did you mean 'max_insns'?"),
        ('irq("h") > 1', "say which: count, complete"),
        ("coverage.line > 1", "no part 'line'; did you mean 'lines'?"),
        ("coverage(a, b).lines > 1", "write coverage.PART"),
        ("console.text > 1", "no part 'text'; write console"),
    ],
)
def test_questions_that_nobody_could_answer(text: str, wrong: str) -> None:
    with pytest.raises(UsageError) as raised:
        check_questions(parse_expression(text))

    assert wrong in str(raised.value)
