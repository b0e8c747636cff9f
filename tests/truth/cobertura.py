# SPDX-License-Identifier: GPL-2.0-or-later
"""Cobertura's XML read by the rules of its DTD (coverage-04): what may stand where, and with which
attributes.

The rules are written after the DTD's list of elements; no Debian package and no package of Python
ships the DTD itself.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

__all__ = ["read_cobertura"]

_RATES: Final = ("line-rate", "branch-rate", "complexity")
# Element: children as a regular expression over `NAME `, required attributes.
_RULES: Final = {
    "coverage": (
        "(sources )?packages ",
        (
            *("line-rate", "branch-rate", "lines-covered", "lines-valid", "branches-covered"),
            *("branches-valid", "complexity", "version", "timestamp"),
        ),
    ),
    "sources": ("(source )*", ()),
    "source": ("", ()),
    "packages": ("(package )*", ()),
    "package": ("classes ", ("name", *_RATES)),
    "classes": ("(class )*", ()),
    "class": ("methods lines ", ("name", "filename", *_RATES)),
    "methods": ("(method )*", ()),
    "method": ("lines ", ("name", "signature", *_RATES)),
    "lines": ("(line )*", ()),
    "line": ("(conditions )*", ("number", "hits")),
    "conditions": ("(condition )*", ()),
    "condition": ("", ("number", "type", "coverage")),
}
_OPTIONAL: Final = {"line": {"branch", "condition-coverage"}}


def read_cobertura(path: Path) -> tuple[dict[str, str], dict[str, dict[int, int]]]:
    """The totals (attributes of the root), and hits by line by file name; fails by the rules."""
    root = ElementTree.parse(path).getroot()
    assert root.tag == "coverage"
    for element in root.iter():
        children, required = _RULES[element.tag]
        names = "".join(f"{child.tag} " for child in element)
        assert re.fullmatch(children, names), (element.tag, names)
        allowed = set(required) | _OPTIONAL.get(element.tag, set())
        assert set(required) <= set(element.attrib) <= allowed, (element.tag, element.attrib)
        if "branch" in element.attrib:
            assert element.attrib["branch"] in ("true", "false")
    files = {
        each.attrib["filename"]: {
            int(line.attrib["number"]): int(line.attrib["hits"])
            for line in each.iterfind("lines/line")
        }
        for each in root.iter("class")
    }
    return dict(root.attrib), files
