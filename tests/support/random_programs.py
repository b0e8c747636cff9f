# SPDX-License-Identifier: GPL-2.0-or-later
"""Small C programs drawn from a seed: calls, tail calls, recursion, calls through pointers.

Each ends: a call gives away one of its caller's levels, and all together have a stock of fuel. The
compiler may not look from one function into another (`noipa`), so that it neither inlines, clones
nor merges them; no function makes a tail call to itself, which would become a loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

__all__ = ["N_FUNCTIONS", "RandomProgram"]

N_FUNCTIONS: Final = 8
LEVELS: Final = 30
FUEL: Final = 2000

_HEAD: Final = f"""\
#include "random.h"

typedef uint32_t function(uint32_t levels, uint32_t x);

#define OWN __attribute__((noipa)) static uint32_t
#define MIX(x) ((x) * 1664525u + 1013904223u + ((x) >> 15))
#define LEVELS {LEVELS}
#define FUEL {FUEL}

static volatile uint32_t fuel, sink;
"""

_APPLY: Final = """
/* Calls what it is given: at its end, so by a tail call where the compiler makes such. */
OWN apply(function *what, uint32_t levels, uint32_t x)
{
    sink = sink + 1;
    return what(levels, x ^ 5);
}
"""

_RUN: Final = """
uint32_t random_program(void)
{
    uint32_t x = 1;
    fuel = FUEL;
    while (fuel) {
        x = f0(LEVELS, x) + sink;
    }
    return x;
}
"""


@dataclass(frozen=True)
class RandomProgram:
    """The program of a seed.

    Attributes:
        rounds: tail calls may come round to a function of the same chain; else each goes to a
            function of a higher number.
    """

    seed: int
    rounds: bool

    def source(self) -> str:
        """Its C source; includes tests/firmware/random/random.h."""
        draw = Random(self.seed)
        names = [f"f{i}" for i in range(N_FUNCTIONS)]
        listed = [*names, "apply", "random_program"]
        return "".join(
            [
                _HEAD,
                *(f"OWN {name}(uint32_t levels, uint32_t x);\n" for name in names),
                f"\nstatic function *const volatile table[] = {{ {', '.join(names)} }};\n",
                _APPLY,
                *(self._function(i, draw) for i in range(N_FUNCTIONS)),
                _RUN,
                "\nconst struct random_function random_functions[] = {\n",
                *(f'    {{ (void *){name}, "{name}" }},\n' for name in listed),
                "    { 0, 0 },\n};\n",
            ]
        )

    def _function(self, number: int, draw: Random) -> str:
        lines = [
            f"OWN f{number}(uint32_t levels, uint32_t x)",
            "{",
            "    if (levels == 0 || fuel == 0) {",
            f"        return x + {number};",
            "    }",
            "    fuel = fuel - 1;",
            f"    x = MIX(x ^ {draw.randrange(1, 1 << 16)}u);",
            *(line for _ in range(draw.randint(1, 3)) for line in _step(draw)),
            *self._end(number, draw),
            "}",
        ]
        return "\n" + "".join(f"{line}\n" for line in lines)

    def _end(self, number: int, draw: Random) -> list[str]:
        """How it ends: mostly by one of two tail calls."""
        others = [i for i in range(N_FUNCTIONS) if i != number and (self.rounds or i > number)]
        if not others or draw.random() < 0.25:
            return ["    sink = x;", "    return x ^ sink;"]
        ends = [f"f{draw.choice(others)}" for _ in range(2)]
        if self.rounds and draw.random() < 0.5:  # to one of the next four
            ends[0] = f"table[({number} + 1 + (x >> 9 & 3)) % {N_FUNCTIONS}]"
        return [
            f"    if (x & {1 << draw.randrange(4, 24)}u) {{",
            f"        return {ends[0]}(levels - 1, x);",
            "    }",
            f"    return {ends[1]}(levels - 1, x + 1);",
        ]


def _step(draw: Random) -> list[str]:
    """A call that comes back: after it something is left to do."""
    callee = f"f{draw.randrange(N_FUNCTIONS)}"
    call = draw.choice(
        [
            f"{callee}(levels - 1, x)",
            f"{callee}(levels - 1, x)",
            f"table[x >> 7 & {N_FUNCTIONS - 1}](levels - 1, x)",
            f"apply({callee}, levels - 1, x)",
            f"apply(table[x >> 11 & {N_FUNCTIONS - 1}], levels - 1, x)",
        ]
    )
    condition = draw.choice(
        [
            f"if (x & {1 << draw.randrange(4, 24)}u)",
            f"if ((x & {3 << draw.randrange(4, 24)}u) == 0)",
            f"for (uint32_t i = 0; i < (x >> {draw.randrange(4, 24)} & 3); i++)",
        ]
    )
    return [f"    {condition} {{", f"        x += {call};", "        sink = x;", "    }"]
