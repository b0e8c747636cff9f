# SPDX-License-Identifier: GPL-2.0-or-later
"""Places in a program that options name: functions, files, addresses, lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gdbext.errors import UsageError

if TYPE_CHECKING:
    from gdbext.symbols import Symbols
    from gdbext.symbols.model import Function

__all__ = ["file_ranges", "function_ranges", "instructions_at", "one_function", "range_of"]

Ranges = list[tuple[int, int]]


def one_function(symbols: Symbols, text: str) -> Function:
    """The function that is meant: NAME, FILE:NAME or 0xADDRESS.

    Raises:
        UsageError: there is none, or more than one.
    """
    found = symbols.find(text)
    if len(found) != 1:
        nearest = symbols.suggest(text)
        hint = f"; did you mean {' or '.join(nearest[:3])}?" if nearest else ""
        what = f"is {len(found)} functions: give FILE:NAME" if found else "is no function"
        raise UsageError(f"'{text}' {what}{'' if found else hint}")
    return found[0]


def function_ranges(symbols: Symbols, text: str) -> Ranges:
    """The code of a function, the parts that the compiler moved away included.

    Raises:
        UsageError: no such function, or it is not known where it ends.
    """
    function = one_function(symbols, text)
    if not function.size:
        raise UsageError(f"'{text}': nothing tells where it ends; give its code with --range A:B")
    cold = (f"{function.raw_name}.cold", f"{function.raw_name}.cold.")
    parts = [
        f for f in symbols.functions if f.raw_name == cold[0] or f.raw_name.startswith(cold[1])
    ]
    return [(part.address, part.end) for part in [function, *parts] if part.size]


def file_ranges(symbols: Symbols, text: str) -> Ranges:
    """The functions that a source file defines.

    Raises:
        UsageError: no function is of that file.
    """
    functions = [
        f for f in symbols.functions if f.size and f.file and f"/{f.file}".endswith(f"/{text}")
    ]
    if not functions:
        raise UsageError(
            f"'{text}': no function of {symbols.path} comes from a source file of that name"
        )
    return [(function.address, function.end) for function in functions]


def range_of(symbols: Symbols, text: str) -> tuple[int, int]:
    """A:B: addresses, or functions, which stand for their first instructions; B is outside.

    Raises:
        UsageError: it is no range, or empty.
    """
    first, colon, last = text.rpartition(":")
    if not colon:
        raise UsageError(f"--range '{text}': write A:B, such as 0x8000:0x8400")
    start, end = _address(symbols, first), _address(symbols, last)
    if start >= end:
        raise UsageError(f"--range '{text}': is empty: {start:#x} is not below {end:#x}")
    return start, end


def instructions_at(symbols: Symbols, text: str) -> list[int]:
    """The instructions that a place means: a function, 0xADDRESS, or FILE:LINE.

    Raises:
        UsageError: there is no such place.
    """
    match = re.fullmatch(r"(.+):(\d+)", text)
    if match is None:
        return [_address(symbols, text)]
    file, line = match[1], int(match[2])
    starts: list[int] = []
    for function in symbols.functions:
        rows = [
            row.start
            for row in symbols.rows_of(function)
            if row.line == line and row.is_stmt and f"/{row.file}".endswith(f"/{file}")
        ]
        starts += [min(rows)] if rows else []
    if not starts:
        raise UsageError(f"'{text}': no instruction of {symbols.path} belongs to that line")
    return starts


def _address(symbols: Symbols, text: str) -> int:
    if re.match(r"0[xX]|\d", text):
        try:
            return int(text, 0)
        except ValueError:
            raise UsageError(f"'{text}' is no address") from None
    return one_function(symbols, text).address
