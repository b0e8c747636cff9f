# SPDX-License-Identifier: GPL-2.0-or-later
"""C sources of a program with thousands of functions, as firmware with a few libraries has."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["PER_FILE", "called", "write_big_program"]

PER_FILE: Final = 100
_CALLED_OF: Final = 3

_HEADER: Final = """#pragma once
#include <stdint.h>
struct item { uint32_t key, value; struct item *next; };
struct table { struct item *first[8]; uint32_t size; int32_t last; };
extern struct table big_table;
static inline uint32_t big_mix(uint32_t value, uint32_t key)
{
    value ^= key * 0x9e3779b9u;
    if (value & 0x8000u) {
        value = (value << 7) | (value >> 25);
    }
    return value + key;
}
static inline struct item *big_find(struct table *table, uint32_t key)
{
    for (struct item *item = table->first[key & 7]; item; item = item->next) {
        if (item->key == key) {
            return item;
        }
    }
    return 0;
}
"""

_FUNCTION: Final = """
uint32_t big_{n}(uint32_t value, int32_t limit)
{{
    struct item *item = big_find(&big_table, value);
    uint32_t sum = big_mix(value, {n}u);

    if (limit > {a} && value != {n}u) {{
        sum += big_mix(sum, (uint32_t)limit);
    }} else if (item) {{
        sum -= item->value;
    }}
    for (int32_t i = 0; i < (limit & {b}); i++) {{
        sum = big_mix(sum, (uint32_t)i);
        if ((sum & 0xffu) == {c}u) {{
            break;
        }}
    }}
    switch (sum & 7) {{
    case 0:
        sum += {a}u;
        break;
    case 1:
        sum ^= value;
        break;
    case 2:
        big_table.last = limit;
        break;
    case 3:
        sum = big_mix(sum, {c}u);
        break;
    default:
        sum = ~sum;
        break;
    }}
    return sum;
}}
"""


def called(n: int) -> bool:
    """Whether the program calls `big_N`."""
    return n % _CALLED_OF == 0


def write_big_program(folder: Path, n_functions: int) -> None:
    """Write `big.h` and C files with functions `big_0` to `big_{n_functions - 1}`.

    `__wrap_main` calls a third of them (`called`), each once, and then `__real_main`: link with
    `--wrap=main`. Files that are there already and equal are left as they are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "big.h", _HEADER)
    for first in range(0, n_functions, PER_FILE):
        numbers = range(first, min(first + PER_FILE, n_functions))
        text = '#include "big.h"\n' + "".join(
            _FUNCTION.format(n=n, a=n % 19, b=(1, 3, 7, 15)[n % 4], c=n % 251) for n in numbers
        )
        _write(folder / f"big_{first // PER_FILE}.c", text)
    chosen = [n for n in range(n_functions) if called(n)]
    declared = "".join(f"uint32_t big_{n}(uint32_t, int32_t);\n" for n in chosen)
    names = "".join(f"    big_{n},\n" for n in chosen)
    _write(
        folder / "main.c",
        f"""#include "big.h"
struct table big_table;
int __real_main(void);
int __wrap_main(void);
{declared}
static uint32_t (*const functions[])(uint32_t, int32_t) = {{
{names}}};
int __wrap_main(void)
{{
    for (uint32_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {{
        big_table.size = functions[i](i, (int32_t)i % 23);
    }}
    return __real_main();
}}
""",
    )


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
