# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of code a second time, simply: readelf's decoded line table laid over objdump's listing."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.truth.binutils import PREFIXES, functions
from tests.truth.listing import SAYS, listing

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

__all__ = ["CodeLine", "code_lines", "conditional_instructions", "state_of"]

_CONDITION_OF_A64: Final = re.compile(
    r"f?(csel|csinc|csinv|csneg|cset|csetm|cinc|cinv|cneg|ccm[pn])e?"
)


@dataclass
class CodeLine:
    """The instructions of one source line; `starts` are those of its statement starts' rows."""

    starts: set[int] = field(default_factory=set)
    all: set[int] = field(default_factory=set)


def code_lines(elf: Path, target: str, ran: Mapping[int, int]) -> dict[tuple[str, int], CodeLine]:
    """By (name of the file without folders, line): its instructions."""
    rows = list(_rows(elf, target))
    kept = {row[0] for row in rows} | {address for address, n in ran.items() if n}
    addresses = sorted(_code(elf, target, kept))
    lines: dict[tuple[str, int], CodeLine] = {}
    for start, end, file, line, is_stmt in rows:
        own = {address for address in addresses if start <= address < end}
        if own and line:
            known = lines.setdefault((file, line), CodeLine())
            known.all |= own
            if is_stmt:
                known.starts |= own
    return lines


def _code(elf: Path, target: str, kept: Container[int]) -> Iterator[int]:
    """Addresses of instructions, without no-operations (but those `kept`) that fill gaps: behind a
    branch that always leaves, before data, and before a function."""
    starts = {function.address for function in functions(elf, target)}
    held: list[int] = []
    dead = False
    for insn in [*listing(_objdump(target), elf), None]:
        if insn is None or insn.address in starts:
            held, dead = [], False
        if insn is None or insn.mnemonic == "udf":
            continue
        if insn.address not in kept and (
            re.search(r"\bnopw?l?\b", f"{insn.mnemonic} {insn.operands}")
            or ((insn.mnemonic, insn.operands) in _NO_OPERATIONS)
        ):
            if not dead:
                held.append(insn.address)
            continue
        yield from held
        held = []
        yield insn.address
        said = SAYS[target](insn)
        leaves = said.kind in ("JUMP", "JUMP_INDIRECT", "RETURN", "TRAP_RETURN")
        dead = leaves and not said.conditional


_NO_OPERATIONS: Final = (
    ("xchg", "%ax,%ax"),
    ("mov", "r8, r8"),
    ("movs", "r0, r0"),
    ("mov", "r0, r0"),
)


def conditional_instructions(elf: Path, target: str) -> dict[int, bool]:
    """Addresses of instructions that depend on a condition and are no conditional branches.

    True for those that may have no effect at all (IT blocks, A32), False for a choice.
    """
    found: dict[int, bool] = {}
    left = 0
    for insn in listing(_objdump(target), elf):
        if insn is None:
            left = 0
        elif left:
            found[insn.address] = True
            left -= 1
        elif re.fullmatch("it[te]{0,3}", insn.mnemonic):
            left = len(insn.mnemonic) - 1
        elif target == "arm" and len(insn.code) == 4 and not insn.mnemonic.endswith((".w", ".n")):
            if _is_a32(insn.address, elf) and insn.code[3] >> 4 < 14 and insn.mnemonic[0] != "b":
                found[insn.address] = True
        elif (target == "aarch64" and _CONDITION_OF_A64.fullmatch(insn.mnemonic)) or (
            target == "x86_64" and re.match("cmov|set", insn.mnemonic)
        ):
            found[insn.address] = False
    return found


def state_of(line: CodeLine, ran: Mapping[int, int], conditional: Mapping[int, bool]) -> str:
    """`covered`, `uncovered` or `undecided`."""
    reached = {address for address in line.starts or line.all if ran.get(address)}
    if reached - conditional.keys():
        return "covered"
    return "undecided" if reached else "uncovered"


def _rows(elf: Path, target: str) -> Iterator[tuple[int, int, str, int, bool]]:
    """Rows as [start, end); of those at one address the last one counts, and it starts a statement
    if one of them does so for its line."""
    text = subprocess.run(
        [f"{PREFIXES[target]}readelf", "-W", "--debug-dump=decodedline", str(elf)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    before: int | None = None
    place = ("", 0)
    starts: set[tuple[str, int]] = set()
    for found in _ROW.finditer(text):
        file, line, address_text, stmt = found.groups()
        address = int(address_text, 16)
        if before is not None and address > before:
            yield before, address, *place, place in starts
            starts = set()
        if line == "-":
            before, starts = None, set()
            continue
        before, place = address, (Path(file).name, int(line))
        if stmt:
            starts.add(place)


_ROW: Final = re.compile(
    r"^(\S+) +(\d+|-) +(0x[0-9a-f]+|0)(?:\[\d+\])?(?: +(?:\d+|END))?(?: +(x))?(?: +END)? *$",
    re.MULTILINE,
)


def _objdump(target: str) -> str:
    return f"{PREFIXES[target]}objdump"


def _is_a32(address: int, elf: Path) -> bool:
    """Whether the mapping symbol before the address says `$a`."""
    marks = _marks(elf)
    before = [mark for mark in marks if mark[0] <= address]
    return bool(before) and max(before)[1] == "a"


def _marks(elf: Path) -> list[tuple[int, str]]:
    if elf not in _MARKS:
        text = subprocess.run(
            [f"{PREFIXES['arm']}nm", "--special-syms", str(elf)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found = re.findall(r"^([0-9a-f]+) . \$([atd])(?:\..*)?$", text, re.MULTILINE)
        _MARKS[elf] = [(int(address, 16), kind) for address, kind in found]
    return _MARKS[elf]


_MARKS: Final[dict[Path, list[tuple[int, str]]]] = {}
