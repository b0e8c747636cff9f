# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the few debugging information entries (DIEs) that describe code, past all others.

pyelftools makes an object of every DIE, most of which describe types and variables. Here an
abbreviation is turned once into how many bytes its entries take, so that a unit is stepped
through about twenty times faster; the entries of interest are then read by pyelftools.
Forms: DWARF 5 section 7.5.6, and the GNU ones for split DWARF 4 and dwz.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gdbext.symbols.lines import uleb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elftools.dwarf.compileunit import CompileUnit

_FIXED = {
    "DW_FORM_flag_present": 0, "DW_FORM_implicit_const": 0,
    "DW_FORM_data1": 1, "DW_FORM_flag": 1, "DW_FORM_ref1": 1, "DW_FORM_strx1": 1,
    "DW_FORM_addrx1": 1,
    "DW_FORM_data2": 2, "DW_FORM_ref2": 2, "DW_FORM_strx2": 2, "DW_FORM_addrx2": 2,
    "DW_FORM_strx3": 3, "DW_FORM_addrx3": 3,
    "DW_FORM_data4": 4, "DW_FORM_ref4": 4, "DW_FORM_strx4": 4, "DW_FORM_addrx4": 4,
    "DW_FORM_ref_sup4": 4, "DW_FORM_ref": 4,
    "DW_FORM_data8": 8, "DW_FORM_ref8": 8, "DW_FORM_ref_sig8": 8, "DW_FORM_ref_sup8": 8,
    "DW_FORM_data16": 16,
}  # fmt: skip
_OFFSET = {
    "DW_FORM_strp", "DW_FORM_sec_offset", "DW_FORM_strp_sup", "DW_FORM_line_strp",
    "DW_FORM_GNU_ref_alt", "DW_FORM_GNU_strp_alt",
}  # fmt: skip
_LEB = {
    "DW_FORM_sdata", "DW_FORM_udata", "DW_FORM_ref_udata", "DW_FORM_strx", "DW_FORM_addrx",
    "DW_FORM_loclistx", "DW_FORM_rnglistx", "DW_FORM_GNU_addr_index", "DW_FORM_GNU_str_index",
}  # fmt: skip
_BLOCK = {"DW_FORM_block1": 1, "DW_FORM_block2": 2, "DW_FORM_block4": 4}
_LEB_BLOCK = {"DW_FORM_block", "DW_FORM_exprloc"}
_CODE_TAGS = ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine")
_PLACES = {"DW_AT_low_pc", "DW_AT_ranges"}

# What to do next while skipping an entry: pass N bytes, or a value whose size is in the data.
_PASS, _SKIP_LEB, _SKIP_BLOCK, _SKIP_LEB_BLOCK, _SKIP_TEXT = range(5)


class CodeEntry(NamedTuple):
    """A subprogram or inlined subroutine that has code; `depth` counts inlined ones around it."""

    offset: int  # in .debug_info
    inlined: bool
    depth: int


class _Shape(NamedTuple):
    steps: tuple[tuple[int, int], ...]
    has_children: bool
    inlined: bool
    wanted: bool


def code_entries(cu: CompileUnit, data: bytes, little_endian: bool) -> Iterator[CodeEntry]:
    """Yield the entries of a unit that describe code, in order; `data` is all of `.debug_info`."""
    table = cu.get_abbrev_table()
    shapes: dict[int, _Shape] = {}
    order = "little" if little_endian else "big"
    at, end = cu.cu_die_offset, min(cu.cu_offset + cu.size, len(data))
    around: list[bool] = []  # of each open parent: is it inlined code
    depth = 0
    while at < end:
        start = at
        code, at = uleb(data, at)
        if code == 0:
            if not around:
                break
            depth -= around.pop()
            continue
        shape = shapes.get(code)
        if shape is None:
            shape = shapes[code] = _shape(cu, table.get_abbrev(code))
        if shape.wanted:
            yield CodeEntry(start, shape.inlined, depth)
        for step, size in shape.steps:
            if step == _PASS:
                at += size
            elif step == _SKIP_LEB:
                while data[at] & 0x80:
                    at += 1
                at += 1
            elif step == _SKIP_TEXT:
                at = data.index(b"\0", at) + 1
            elif step == _SKIP_BLOCK:
                at += size + int.from_bytes(data[at : at + size], order)  # type: ignore[arg-type]
            else:
                length, at = uleb(data, at)
                at += length
        if shape.has_children:
            around.append(shape.inlined)
            depth += shape.inlined
        elif not around:
            break


def _shape(cu: CompileUnit, declaration: object) -> _Shape:
    specs = list(declaration.iter_attr_specs())  # type: ignore[attr-defined]
    tag = declaration["tag"]  # type: ignore[index]
    steps: list[tuple[int, int]] = []
    for _, form in specs:
        step, size = _step(cu, form)
        if step == _PASS and steps and steps[-1][0] == _PASS:
            steps[-1] = (_PASS, steps[-1][1] + size)
        else:
            steps.append((step, size))
    return _Shape(
        tuple(steps),
        declaration.has_children(),  # type: ignore[attr-defined]
        tag == "DW_TAG_inlined_subroutine",
        tag in _CODE_TAGS and any(name in _PLACES for name, _ in specs),
    )


def _step(cu: CompileUnit, form: str) -> tuple[int, int]:
    offset_size = cu.dwarf_format() // 8
    if form in _FIXED:
        return _PASS, _FIXED[form]
    if form in _OFFSET:
        return _PASS, offset_size
    if form == "DW_FORM_addr":
        return _PASS, int(cu["address_size"])
    if form == "DW_FORM_ref_addr":
        return _PASS, int(cu["address_size"]) if cu["version"] < 3 else offset_size
    if form in _LEB:
        return _SKIP_LEB, 0
    if form in _BLOCK:
        return _SKIP_BLOCK, _BLOCK[form]
    if form in _LEB_BLOCK:
        return _SKIP_LEB_BLOCK, 0
    if form == "DW_FORM_string":
        return _SKIP_TEXT, 0
    raise ValueError(f"attribute form {form} is not known")
