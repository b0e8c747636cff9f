# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion of arguments at GDB's prompt: options, function names, files."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import gdb

from gdbext.errors import SymbolError
from gdbext.symbols import Symbols

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gdbext.commands.registry import Argument, Command

__all__ = ["complete"]


def complete(made: Command, text: str, word: str | None, elf: Path | None) -> list[str] | int:
    """What may follow, as GDB wants it: texts that replace `word`, the last part of `text`.

    GDB asks twice, first with None for `word`, to know which of its completers to ask instead.
    """
    arguments = made.arguments_at("gdb")
    options = {argument.name: argument for argument in arguments if argument.is_option}
    words = text.split()
    token = "" if not words or text[-1:].isspace() else words.pop()
    before = words[-1] if words else ""
    name, equals, value = token.partition("=")
    wanted: Argument | None = None
    if equals and name in options:
        wanted, token = options[name], value
    elif before in options and not options[before].is_flag:
        wanted = options[before]
    elif token.startswith("-"):
        return _replacing(token, token if word is None else word, options)
    else:
        wanted = _next_positional(arguments, words, options)
    if wanted is None:
        return gdb.COMPLETE_NONE  # type: ignore[no-any-return]
    if wanted.completes == "file":
        return gdb.COMPLETE_FILENAME  # type: ignore[no-any-return]
    if wanted.completes == "function" and word is not None and elf is not None:
        return _replacing(token, word, _function_names(elf, token))
    return gdb.COMPLETE_NONE  # type: ignore[no-any-return]


def _replacing(token: str, word: str, candidates: Iterable[str]) -> list[str]:
    """Candidates that begin with `token`, less the part of it that is before `word`.

    GDB breaks words at its own characters (`=`, `:`), so `word` may be the token's end only.
    """
    skip = len(token) - len(word) if token.endswith(word) else 0
    return [name[skip:] for name in candidates if name.startswith(token)]


def _next_positional(
    arguments: list[Argument], words: list[str], options: dict[str, Argument]
) -> Argument | None:
    """The positional argument that comes after the words typed so far."""
    given = 0
    skip = False
    for typed in words:
        if skip:
            skip = False
        elif typed in options:
            skip = not options[typed].is_flag
        elif not typed.startswith("-"):
            given += 1
    positional = [argument for argument in arguments if not argument.is_option]
    return positional[given] if given < len(positional) else None


def _function_names(elf: Path, token: str) -> list[str]:
    """The names, or those of one file as FILE:NAME, that begin with `token` and are one word."""
    symbols = _symbols(elf, elf.stat().st_mtime_ns)
    if symbols is None:
        return []
    names = (name for name in symbols.complete(token) if re.fullmatch(r"\S+", name))
    # Mangled names are for those who type them.
    return sorted(n for n in names if token.startswith("_Z") or not n.startswith("_Z"))


@lru_cache(maxsize=2)
def _symbols(elf: Path, _mtime_ns: int) -> Symbols | None:
    try:
        return Symbols.open(elf)
    except SymbolError:
        # The command itself will say what is wrong with the file.
        return None
