# SPDX-License-Identifier: GPL-2.0-or-later
"""C++ and Rust symbol names as people write them."""

from __future__ import annotations

import re

_MANGLED = re.compile(r"_{1,2}(?:Z|R)[A-Za-z0-9_]|_GLOBAL__")
_LANGUAGES = ("itanium", "rust")


def demangle(raw_name: str) -> str:
    """The readable name, spelled as GDB and c++filt do; `raw_name` itself if it is not mangled.

    Compiler clones keep their suffix: `f(int) [clone .part.0]`.
    """
    if not _MANGLED.match(raw_name):
        return raw_name
    import demangle as demangle_package  # on first need: C firmware does not pay for it

    return demangle_package.demangle(raw_name, language=_LANGUAGES, style="gnu")


def without_parameters(name: str) -> str:
    """`ns::f<int>(char)` -> `ns::f<int>`; operators and anonymous namespaces are left whole."""
    if not name.endswith((")", "const", "&", "]")) or "(" not in name:
        return name
    depth = 0
    end = name.rfind(")")
    for index in range(end, -1, -1):
        if name[index] == ")":
            depth += 1
        elif name[index] == "(":
            depth -= 1
            if depth == 0:
                return name[:index] or name
    return name


def short_names(name: str) -> set[str]:
    """What people may type for a qualified name, parameters left out.

    `ns::Class<int>::f<char>(int)` gives `ns::Class<int>::f<char>`, `Class<int>::f<char>`,
    `f<char>`, `f` and so on. A compiler's clone of a function has only its whole name.
    """
    if name.endswith("]"):
        return {name}
    name = without_parameters(name)
    found = {name}
    depth = 0
    opened = len(name)  # where the template arguments at the end begin
    for index in range(len(name) - 1, -1, -1):
        depth += {">": 1, ")": 1, "<": -1, "(": -1}.get(name[index], 0)
        if depth == 0 and name[index] == "<" and opened == len(name) and name.endswith(">"):
            opened = index
        behind = index + 2 if name.startswith("::", index) else index
        ends_return_type = name[index] == " " and "operator" not in name
        if ends_return_type:
            behind = index + 1
        if depth == 0 and (behind > index or index == 0):
            found.add(name[behind:])
            if behind < opened < len(name):
                found.add(name[behind:opened])
            if ends_return_type:
                break
    return found
