# SPDX-License-Identifier: GPL-2.0-or-later
"""How code was compiled, and which names its source can use; read only when asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gdbext.symbols.image import reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE

    from gdbext.symbols.sources import Sources

__all__ = ["Origin", "Origins"]

_NAMED: Final = frozenset(
    (
        "DW_TAG_variable",
        "DW_TAG_subprogram",
        "DW_TAG_formal_parameter",
        "DW_TAG_enumerator",
        "DW_TAG_typedef",
        "DW_TAG_structure_type",
        "DW_TAG_class_type",
        "DW_TAG_union_type",
        "DW_TAG_enumeration_type",
        "DW_TAG_base_type",
        "DW_TAG_member",
    )
)
_SCOPES: Final = frozenset(
    (
        "DW_TAG_enumeration_type",
        "DW_TAG_namespace",
        "DW_TAG_class_type",
        "DW_TAG_structure_type",
        "DW_TAG_union_type",
    )
)
_LEVEL: Final = re.compile(r"(?:^|\s)-O(\S*)")


@dataclass(frozen=True)
class Origin:
    """What a compile unit says of its making."""

    producer: str
    """The compiler, with its options where it records them."""
    names: frozenset[str] = field(repr=False)
    """Variables, functions, types and enumerators of the unit, and all of its functions'."""

    @property
    def is_gcc(self) -> bool:
        """GCC, whatever it calls itself."""
        return self.producer.startswith("GNU ")

    @property
    def level(self) -> str | None:
        """`0`, `g`, `2`, `s`..; None: it is not recorded."""
        levels = _LEVEL.findall(self.producer)
        if levels:
            return str(levels[-1]) or "1"
        # GCC always records its options; without any it does not optimise.
        return "0" if self.is_gcc else None


class Origins:
    """Reads compile units of one ELF file."""

    def __init__(self, path: Path, sources: Sources) -> None:
        """Nothing is read yet."""
        self._path = path
        self._sources = sources
        self._known: dict[int, Origin | None] = {}
        self._dwarf: Any = None

    def at(self, address: int) -> Origin | None:
        """Of the unit that holds an address; None without debug information.

        Raises:
            SymbolError: the debug information is damaged.
        """
        unit = self._sources.unit_at(address)
        if unit is None:
            return None
        if unit.offset not in self._known:
            with reading(self._path, f".debug_info: unit at {unit.offset:#x} ({unit.name})"):
                self._known[unit.offset] = self._read(unit.offset)
        return self._known[unit.offset]

    def _read(self, offset: int) -> Origin | None:
        if self._dwarf is None:
            from elftools.elf.elffile import ELFFile

            elf = ELFFile(BytesIO(self._path.read_bytes()))
            self._dwarf = elf.get_dwarf_info(follow_links=False)
        cu: CompileUnit = self._dwarf.get_CU_at(offset)
        top = cu.get_top_DIE()
        return Origin(_text(top, "DW_AT_producer"), frozenset(_names(top)))


def _names(top: DIE) -> Iterator[str]:
    todo = [(top, False)]
    while todo:
        parent, inside = todo.pop()
        for die in parent.iter_children():
            if die.tag in _NAMED:
                yield _text(die, "DW_AT_name")
            within = inside or die.tag == "DW_TAG_subprogram"
            if within or die.tag in _SCOPES:
                todo.append((die, within))


def _text(die: DIE, key: str) -> str:
    value = die.attributes[key].value if key in die.attributes else b""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
