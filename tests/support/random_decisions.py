# SPDX-License-Identifier: GPL-2.0-or-later
"""C programs full of decisions drawn from a seed, and what evaluating them comes to.

Conditions are evaluated here on the expression as it was drawn, from the inputs; MC/DC is worked
out from what came of that. Nothing is shared with gdbext.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import Any, Final, Literal

__all__ = ["RandomDecision", "RandomDecisions", "Recursive", "Vector", "shown"]

Tree = tuple[Any, ...] | int
"""`("and", a, b..)`, `("or", a, b..)`, `("not", a)`, or the number of a condition."""
Vector = tuple[tuple[bool | None, ...], bool]
"""Values of the conditions, None for those not evaluated, and the outcome."""
Context = Literal["if", "while", "do", "for", "return", "value", "not-if"]
CONTEXTS: Final[tuple[Context, ...]] = (
    "if", "while", "do", "for", "return", "value", "not-if",
)  # fmt: skip
FORMS: Final = ("c{0}", "c{0} > 0", "is(c{0})", "c{0} == 1", "in.c{0}", "is(c{0}) != is(c{0} + 2)")

_HEAD: Final = """\
/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gx.h"

struct in {
    uint32_t c0, c1, c2, c3, c4, c5;
};

static volatile uint32_t sink;
static volatile uint32_t ticks;

GX_NOINLINE static int is(int x)
{
    sink = sink + 1;
    return x == 1;
}

GX_NOINLINE static uint32_t bit(uint32_t w, uint32_t n)
{
    return (w >> n) & 1;
}
"""


@dataclass(frozen=True)
class RandomDecision:
    """One decision, in a function of its own."""

    number: int
    tree: Tree
    forms: tuple[str, ...]
    """Of each condition, its C text."""
    context: Context
    inputs: tuple[int, ...]
    """Bit n of each is the value of condition n."""

    @property
    def name(self) -> str:
        """Of the function."""
        return f"d{self.number}"

    @property
    def text(self) -> str:
        """The expression in C."""
        return _c(self.tree, self.forms, outer=True)

    def source(self) -> str:
        """The function: it evaluates the decision once for one input."""
        expression = self.text
        body = {
            "if": f"    if ({expression}) {{\n        r = 5;\n    }} else {{\n"
            "        r = 6;\n    }\n",
            "not-if": f"    if (!({expression})) {{\n        r = 5;\n    }}\n",
            # The second round must not evaluate it again.
            "while": f"    while ({expression}) {{\n        r = 5;\n        break;\n    }}\n",
            "do": f"    do {{\n        if (r++) {{\n            break;\n        }}\n"
            f"    }} while ({expression});\n",
            "for": f"    for (r = 3; {expression}; r++) {{\n"
            "        r = 9;\n        break;\n    }\n",
            "return": f"    return {expression};\n",
            "value": f"    int x = {expression};\n    r = x + 1;\n",
        }[self.context]
        loads = "".join(
            f"    int c{n} = bit(w, {n});\n    in.c{n} = c{n};\n" for n in range(len(self.forms))
        )
        unused = "".join(f"    (void)c{n};\n" for n in range(len(self.forms)))
        return (
            f"\nGX_NOINLINE static int {self.name}(uint32_t w)\n{{\n    int r = 0;\n"
            f"    struct in in;\n{loads}{unused}    (void)in;\n{body}    return r;\n}}\n"
        )

    def evaluate(self, word: int) -> Vector:
        """What one input comes to."""
        seen: dict[int, bool] = {}

        def value(tree: Tree) -> bool:
            if isinstance(tree, int):
                seen[tree] = bool(word >> tree & 1)
                return seen[tree]
            kind, *parts = tree
            if kind == "not":
                return not value(parts[0])
            if kind == "and":
                return all(value(part) for part in parts)
            return any(value(part) for part in parts)

        outcome = value(self.tree)
        if self.context == "not-if":
            outcome = not outcome
        return tuple(seen.get(n) for n in range(len(self.forms))), outcome

    def unmasked(self, values: tuple[bool | None, ...]) -> set[tuple[int, bool]]:
        """Of one evaluation: the conditions, with their values, that nothing to the right masks.

        An operand of `&&` that is false, or of `||` that is true, masks those before it.
        """

        def look(tree: Tree) -> tuple[bool | None, set[tuple[int, bool]]]:
            if isinstance(tree, int):
                value = values[tree]
                return value, set() if value is None else {(tree, value)}
            kind, *parts = tree
            if kind == "not":
                value, seen = look(parts[0])
                return None if value is None else not value, seen
            outcome, seen = kind == "and", set[tuple[int, bool]]()
            for part in parts:
                value, more = look(part)
                if value is None:
                    break
                outcome = value
                seen = more if value != (kind == "and") else seen | more
            return outcome if values[_first(tree)] is not None else None, seen

        return look(self.tree)[1]

    def vectors(self, more: Counter[int]) -> Counter[Vector]:
        """Evaluations by vector; `more`: further inputs."""
        found: Counter[Vector] = Counter()
        for word, n in (Counter(self.inputs) + more).items():
            found[self.evaluate(word)] += n
        return found


def shown(vectors: list[Vector], n: int) -> bool:
    """Whether condition n alone is seen to decide: two of the vectors can be completed so that they
    differ in it alone (what was not evaluated may be anything), and they have other outcomes."""
    for (a, x), (b, y) in combinations(vectors, 2):
        if x == y or None in (a[n], b[n]) or a[n] == b[n]:
            continue
        others = [at for at in range(len(a)) if at != n]
        if all({a[at], b[at]} != {True, False} for at in others):
            return True
    return False


@dataclass(frozen=True)
class Recursive:
    """A decision whose conditions evaluate it again; written by hand."""

    name: str = "rec"
    inputs: tuple[int, ...] = (0b1011, 0b0110, 0b11101, 1)
    depth: int = 5

    def source(self) -> str:
        """The function."""
        return """
GX_NOINLINE static int rec(uint32_t w, int n)
{
    if ((n > 0 && rec(w >> 1, n - 1)) || is(w & 1)) {
        return !(w & 2);
    }
    return (w & 4) != 0;
}
"""

    def vectors(self) -> Counter[Vector]:
        """Evaluations by vector."""
        found: Counter[Vector] = Counter()

        def rec(w: int, n: int) -> bool:
            first = n > 0
            second = rec(w >> 1, n - 1) if first else None
            third = bool(w & 1) if not (first and second) else None
            outcome = bool((first and second) or third)
            found[(first, second, third), outcome] += 1
            return not w & 2 if outcome else bool(w & 4)

        for word in self.inputs:
            rec(word, self.depth)
        return found


@dataclass
class RandomDecisions:
    """The program of a seed: decisions with 1 to 6 conditions, each with inputs of its own."""

    seed: int
    decisions: list[RandomDecision] = field(default_factory=list)
    recursive: Recursive = field(default_factory=Recursive)

    @classmethod
    def draw(cls, seed: int, count: int) -> RandomDecisions:
        """The program of a seed."""
        draw = Random(seed)
        found = cls(seed)
        for number in range(count):
            size = 1 + number % 6
            context = draw.choice([c for c in CONTEXTS if size > 1 or c not in ("return", "value")])
            forms = tuple(draw.choice(FORMS).format(n) for n in range(size))
            tree = _tree(draw, list(range(size)))
            # 1 to all of the inputs there can be, some of them twice.
            inputs = draw.choices(range(1 << size), k=draw.randint(1, 2 << min(size, 4)))
            found.decisions.append(RandomDecision(number, tree, forms, context, tuple(inputs)))
        return found

    def ticked(self, ticks: int) -> dict[int, Counter[int]]:
        """By number of the decision: the inputs that so many timer interrupts gave."""
        found: dict[int, Counter[int]] = {d.number: Counter() for d in self.decisions}
        for tick in range(ticks):
            found[tick % len(self.decisions)][tick & 63] += 1
        return found

    def source(self, *, quiet: bool = False) -> str:
        """Its C source; `quiet`: the timer is never started."""
        out = [_HEAD, self.recursive.source()]
        out += [decision.source() for decision in self.decisions]
        count = len(self.decisions)
        names = ", ".join(d.name for d in self.decisions)
        out.append(f"\nstatic int (*const all[{count}])(uint32_t w) = {{{names}}};\n")
        out.append(
            "\nvoid gx_timer_tick(void)\n{\n    uint32_t tick = ticks;\n"
            "    if (!gx_counters.done) {\n"
            f"        sink = sink + (uint32_t)all[tick % {count}](tick & 63);\n"
            "        ticks = tick + 1;\n"
            "        gx_counters.interrupts++;\n    }\n}\n"
        )
        for decision in self.decisions:
            words = ", ".join(map(str, decision.inputs))
            out.append(f"static const uint8_t in{decision.number}[] = {{{words}}};\n")
        for n, word in enumerate(self.recursive.inputs):
            out.append(f"static const uint32_t deep{n} = {word};\n")
        out.append("\nint main(void)\n{\n    gx_counters.magic = GX_MAGIC;\n")
        if not quiet:
            out.append("    board_timer_start(PERIOD_US);\n")
        for n in range(len(self.recursive.inputs)):
            out.append(f"    sink = sink + (uint32_t)rec(deep{n}, {self.recursive.depth});\n")
        for decision in self.decisions:
            out.append(
                f"    for (uint32_t i = 0; i < sizeof(in{decision.number}); i++) {{\n"
                f"        sink = sink + (uint32_t){decision.name}(in{decision.number}[i]);\n"
                "    }\n"
            )
        out.append(
            '    board_timer_stop();\n    gx_counters.done = 1;\n    gx_report("decisions");\n'
            "    gx_exit(0);\n}\n"
        )
        return "".join(out)


def _first(tree: Tree) -> int:
    """The condition that is evaluated first."""
    while not isinstance(tree, int):
        tree = tree[1]
    return tree


def _tree(draw: Random, conditions: list[int]) -> Tree:
    if len(conditions) == 1:
        return ("not", conditions[0]) if draw.random() < 0.25 else conditions[0]
    parts = draw.randint(2, min(3, len(conditions)))
    cuts = sorted(draw.sample(range(1, len(conditions)), parts - 1))
    pieces = [
        _tree(draw, conditions[low:high])
        for low, high in zip([0, *cuts], [*cuts, len(conditions)], strict=True)
    ]
    tree: Tree = (draw.choice(("and", "or")), *pieces)
    return ("not", tree) if draw.random() < 0.2 else tree


def _c(tree: Tree, forms: tuple[str, ...], *, outer: bool = False) -> str:
    if isinstance(tree, int):
        return forms[tree]
    kind, *parts = tree
    if kind == "not":
        return f"!({_c(parts[0], forms, outer=True)})"
    text = f" {'&&' if kind == 'and' else '||'} ".join(_c(part, forms) for part in parts)
    return text if outer else f"({text})"
