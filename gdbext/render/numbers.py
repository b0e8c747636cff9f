# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers, addresses and places as people write them."""

from __future__ import annotations

from pathlib import PurePath

__all__ = ["address", "amount", "bytes_amount", "counted", "percent", "place"]


def address(value: int) -> str:
    """`0x000003f4`; eight digits, or sixteen when eight are too few."""
    return f"{value:#010x}" if value < 1 << 32 else f"{value:#018x}"


def amount(value: int) -> str:
    """`1,234,567`."""
    return f"{value:,}"


def counted(n: int, noun: str) -> str:
    """`1 function`, `1,234 functions`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def bytes_amount(value: int) -> str:
    """`512 bytes`, `4.2 KiB`, `1.3 GiB`."""
    if value < 1024:
        return f"{value} bytes"
    size = float(value)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        size /= 1024
        if size < 1024 or unit == "TiB":
            return f"{size:.1f} {unit}"
    raise AssertionError


def percent(part: int, whole: int) -> str:
    """`12.3%`; a dash if the whole is 0."""
    return f"{100 * part / whole:.1f}%" if whole else "-"


def place(file: str | None, line: int | None) -> str:
    """`main.c:12` from a path and a line; empty if the file is not known."""
    if not file:
        return ""
    name = PurePath(file).name
    return f"{name}:{line}" if line else name
