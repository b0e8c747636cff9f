# SPDX-License-Identifier: GPL-2.0-or-later
"""Finding decisions in C and C++ source."""

from __future__ import annotations

import pytest

from gdbext.coverage.decisions.source import SourceDecision, find_decisions


def found(source: str, path: str = "a.c") -> list[SourceDecision]:
    """The decisions of a source."""
    return find_decisions(path, source.splitlines())[0]


@pytest.mark.parametrize(
    ("source", "kind", "conditions"),
    [
        ("void f(void) { if (a && (b || !c)) g(); }", "if", ["a", "b", "c"]),
        ("void f(void) { while (a > 1 || f(b, c)) ; }", "while", ["a > 1", "f(b, c)"]),
        ("void f(void) { do { x(); } while (!(a && b)); }", "do", ["a", "b"]),
        ("void f(void) { for (int i = 0; i < n && p[i]; i++) { } }", "for", ["i < n", "p[i]"]),
        ("int f(void) { return a == 1 && (b); }", "value", ["a == 1", "b"]),
        ("void f(void) { x = !a || b; }", "value", ["a", "b"]),
        ("void f(void) { x = (a && b) ? c : d; }", "?:", ["a", "b"]),
        ("void f(void) { x = !a == b && c; }", "value", ["!a == b", "c"]),
        ("void f(void) { if (!*p) g(); }", "if", ["*p"]),
        ("void f(void) { g(a && b, 1); }", "value", ["a", "b"]),
        ("void f(void) { if (x = y, z) g(); }", "if", ["x = y, z"]),
        ("void f(void) { if ((x = g()) && x > 1) h(); }", "if", ["x = g()", "x > 1"]),
        ("void f(void) { x = (a && b) == c; }", "value", ["a", "b"]),
    ],
)
def test_conditions_are_the_parts_without_logical_operators(
    source: str, kind: str, conditions: list[str]
) -> None:
    (decision,) = found(source)

    assert decision.kind == kind
    assert [condition.text for condition in decision.conditions] == conditions
    assert decision.obstacle is None


@pytest.mark.parametrize(
    "source",
    [
        "void f(void) { while (1) { } }",
        "void f(void) { for (;;) { } }",
        "#define X(a) ((a) && 1 ? \\\n 2 : 3)",
        "// if (a && b)\n/* a && b */ char *s = \"a && b\"; char c = '?';",
        "void f(void) { switch (a) { case 1: break; } }",
        "int *const p = &x; int y = a & b | c;",
    ],
)
def test_what_is_no_decision(source: str) -> None:
    assert not found(source)


def test_declarations_of_cplusplus_references_are_none() -> None:
    assert not found("void f(T &&);", "a.cpp")


def test_words_are_operators_in_cplusplus_only() -> None:
    source = "bool f() { return a and not b; }"

    (decision,) = found(source, "a.cpp")

    assert [condition.text for condition in decision.conditions] == ["a", "b"]
    assert not found(source, "a.c")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("void f(void) { if (g(a && b) || c) h(); }", "decision of its own"),
        ("void f(void) { if ((a ? b : c) && d) h(); }", "?:"),
        ("void f(void) { if (({ int t = a; t; }) && d) h(); }", "statements"),
    ],
)
def test_what_is_inside_of_a_condition_is_an_obstacle(source: str, says: str) -> None:
    outer = found(source)[0]

    assert outer.obstacle is not None
    assert says in outer.obstacle


def test_an_inner_decision_is_one_of_its_own() -> None:
    texts = [decision.text for decision in found("void f(void) { if (g(a && b) || c) h(); }")]

    assert texts == ["g(a && b) || c", "a && b"]


def test_places_count_bytes_of_lines_with_tabs_and_umlauts() -> None:
    (decision,) = found('void f(void)\n{\n\tif (g("ä") &&\n\t    b) h();\n}')

    assert decision.start == (3, 6)
    assert decision.region.start == (3, 2)
    assert [tuple(c.start) for c in decision.conditions] == [(3, 6), (4, 6)]
    assert decision.conditions[1].zone == (3, 14)


def test_body_and_else_are_told_apart() -> None:
    (decision,) = found("void f(void)\n{\n if (a)\n  g();\n else\n  h();\n x();\n}")

    assert decision.then is not None
    assert decision.otherwise is not None
    assert (decision.then.start.line, decision.then.end.line) == (4, 4)
    assert (decision.otherwise.start.line, decision.otherwise.end.line) == (6, 6)


def test_left_over_brackets_of_two_preprocessor_halves_do_not_hide_what_follows() -> None:
    source = "#if A\nvoid f(int a) {\n#else\nvoid f(long a) {\n#endif\n if (a && b) g();\n}\n"

    (decision,) = found(source)

    assert decision.text == "a && b"
