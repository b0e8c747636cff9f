# SPDX-License-Identifier: GPL-2.0-or-later
"""Code read instruction by instruction: which branches are conditional, and what else depends on
a condition without a branch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gdbext.replay.branches import a64, arm, riscv, thumb, x86
from gdbext.replay.disassembly import decoded_texts
from gdbext.replay.kinds import End, EndKind, Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

__all__ = ["Scan", "end_of_insn", "is_branch", "scan"]

# What assemblers fill gaps with before data and functions that must be aligned.
_FILLERS: Final[dict[Mode, tuple[bytes, ...]]] = {
    Mode.THUMB: (b"\x00\xbf", b"\xc0\x46", b"\x00\x00", b"\xaf\xf3\x00\x80"),
    Mode.ARM: (b"\x00\xf0\x20\xe3", b"\x00\x00\xa0\xe1"),
    Mode.A64: (b"\x1f\x20\x03\xd5",),
    Mode.RV32: (b"\x01\x00", b"\x13\x00\x00\x00"),
    Mode.RV64: (b"\x01\x00", b"\x13\x00\x00\x00"),
}

_BRANCHES: Final = frozenset(
    (
        EndKind.JUMP,
        EndKind.COND,
        EndKind.CALL,
        EndKind.CALL_INDIRECT,
        EndKind.JUMP_INDIRECT,
        EndKind.RETURN,
        EndKind.TRAP_RETURN,
    )
)


def is_branch(kind: int) -> bool:
    """Whether an instruction of this EndKind goes elsewhere by itself."""
    return kind in _BRANCHES


@dataclass
class Scan:
    """The instructions of one piece of code, by address."""

    addresses: list[int] = field(default_factory=list)
    sizes: bytearray = field(default_factory=bytearray)
    """Bytes of each instruction, in the order of `addresses`."""
    branches: dict[int, int] = field(default_factory=dict)
    """Conditional branches, predicated calls and returns: the target, or NO_TARGET."""
    effects: set[int] = field(default_factory=set)
    """Of these, the calls and returns: what they do happens only when they are taken."""
    predicated: set[int] = field(default_factory=set)
    """Other instructions that take effect only if a condition holds: IT blocks, A32."""
    selects: set[int] = field(default_factory=set)
    """Instructions that choose between values by a condition: csel, ccmp, cmov, setcc, czero."""

    fillers: list[int] = field(default_factory=list)
    """Places of no-operations, where only the reader knows them (x86)."""

    def add(self, other: Scan) -> None:
        """Append code at higher addresses."""
        self.addresses += other.addresses
        self.sizes += other.sizes
        self.branches |= other.branches
        self.effects |= other.effects
        self.predicated |= other.predicated
        self.selects |= other.selects


def scan(mode: Mode, address: int, code: bytes, kept: Container[int] = ()) -> Scan:
    """Read `code`, which begins at `address` with an instruction.

    No-operations that only fill a gap are left out: those at the end, and those behind a branch
    that always leaves. Ends early where the bytes are no instruction (x86) or one is cut.

    Args:
        kept: addresses of no-operations that fill no gap: a line begins there, or they ran.
    """
    found = _READERS[mode](mode, address, code)
    _drop_fillers(found, mode, address, code, kept)
    return found


def _drop_fillers(found: Scan, mode: Mode, base: int, code: bytes, kept: Container[int]) -> None:
    fillers = _FILLERS.get(mode, ())
    if found.fillers:
        places = found.fillers
    else:
        starts = {at for filler in fillers for at in _occurrences(code, filler)}
        places = (
            [
                place
                for place, (address, size) in enumerate(
                    zip(found.addresses, found.sizes, strict=True)
                )
                if address - base in starts and code[address - base :][:size] in fillers
            ]
            if starts
            else []
        )
    places = [place for place in places if found.addresses[place] not in kept]
    padding: set[int] = set()
    for place in places:
        before = found.addresses[place - 1] if place else 0
        if place - 1 in padding or (
            place
            and before not in found.branches
            and _always_leaves(mode, before, code[before - base :][: found.sizes[place - 1]])
        ):
            padding.add(place)
    last = len(found.addresses) - 1
    fillers_at = set(places)
    while last in fillers_at:
        padding.add(last)
        last -= 1
    if padding:
        dropped = {found.addresses[place] for place in padding}
        rest = [place for place in range(len(found.addresses)) if place not in padding]
        found.sizes = bytearray(found.sizes[place] for place in rest)
        found.addresses = [found.addresses[place] for place in rest]
        found.predicated -= dropped


def _occurrences(code: bytes, filler: bytes) -> Iterator[int]:
    at = code.find(filler)
    while at >= 0:
        yield at
        at = code.find(filler, at + 1)


def end_of_insn(mode: Mode, address: int, insn: bytes) -> End:
    """What one instruction that is in no IT block does to control flow."""
    size = bytes((len(insn),))
    if mode == Mode.THUMB:
        return thumb.end_of(address, size, insn, m_profile=False)
    if mode == Mode.ARM:
        return arm.end_of(address, insn)
    if mode == Mode.A64:
        return a64.end_of(address, insn)
    if mode in (Mode.RV32, Mode.RV64):
        return riscv.end_of(address, size, insn, bits=32 if mode == Mode.RV32 else 64)
    return x86.end_of(address, size, insn, bits=64 if mode == Mode.X86_64 else 32)


def _always_leaves(mode: Mode, address: int, insn: bytes) -> bool:
    """Whether the code behind this instruction is reached from elsewhere only."""
    end = end_of_insn(mode, address, insn)
    return not end.flags and end.kind in (
        EndKind.JUMP,
        EndKind.JUMP_INDIRECT,
        EndKind.RETURN,
        EndKind.TRAP_RETURN,
    )


def _thumb(_mode: Mode, address: int, code: bytes) -> Scan:
    found = Scan()
    at, left, stop = 0, 0, len(code) - 1
    while at < stop:
        top = code[at + 1]
        size = 4 if top >= 0xE8 else 2
        if at + size > len(code):
            break
        pc = address + at
        found.addresses.append(pc)
        found.sizes.append(size)
        if left:
            left -= 1
            _predicated(
                found, pc, thumb.end_of(pc, bytes((size,)), code[at : at + size], m_profile=False)
            )
        elif size == 2:
            if top == 0xBF and code[at] & 0xF:
                mask = code[at] & 0xF
                left = 4 - ((mask & -mask).bit_length() - 1)
            elif 0xD0 <= top < 0xDE or top & 0xF5 == 0xB1:
                _conditional(found, pc, thumb.end_of(pc, b"\2", code[at : at + 2], m_profile=False))
        elif code[at + 3] & 0x80:
            if top & 0xF8 == 0xF0:
                _conditional(found, pc, thumb.end_of(pc, b"\4", code[at : at + 4], m_profile=False))
            elif top == 0xEA and code[at] & 0xF0 == 0x50:  # csel and its kin, Armv8.1-M
                found.selects.add(pc)
        at += size
    return found


def _arm(_mode: Mode, address: int, code: bytes) -> Scan:
    found = _words(address, code)
    for index, top in enumerate(code[3::4]):
        if top < arm.ALWAYS << 4:
            pc = address + 4 * index
            _predicated(found, pc, arm.end_of(pc, code[4 * index : 4 * index + 4]))
    return found


def _a64(_mode: Mode, address: int, code: bytes) -> Scan:
    found = _words(address, code)
    for index, top in enumerate(code[3::4]):
        pc = address + 4 * index
        if top in _A64_CONDITIONAL:
            _conditional(found, pc, a64.end_of(pc, code[4 * index : 4 * index + 4]))
        elif top in _A64_SELECTS:
            word = int.from_bytes(code[4 * index : 4 * index + 4], "little")
            if (
                word & 0x1FE00000 in (0x1A800000, 0x1A400000)  # csel.., ccmp and ccmn
                or word & 0xFF200400 == 0x1E200400  # fcsel, fccmp
            ):
                found.selects.add(pc)
    return found


_A64_CONDITIONAL: Final = frozenset(b"\x54\x34\x35\xb4\xb5\x36\x37\xb6\xb7")
_A64_SELECTS: Final = frozenset(b"\x1a\x3a\x5a\x7a\x9a\xba\xda\xfa\x1e")


def _riscv(mode: Mode, address: int, code: bytes) -> Scan:
    found = Scan()
    bits = 32 if mode == Mode.RV32 else 64
    at, stop = 0, len(code) - 1
    while at < stop:
        low = code[at]
        size = 4 if low & 3 == 3 else 2
        if at + size > len(code):
            break
        pc = address + at
        found.addresses.append(pc)
        found.sizes.append(size)
        if low & 0x7F == 0x63 or (low & 3 == 1 and code[at + 1] >= 0xC0):
            _conditional(
                found, pc, riscv.end_of(pc, bytes((size,)), code[at : at + size], bits=bits)
            )
        elif low & 0x7F == 0x33 and code[at + 3] >> 1 == 7 and code[at + 1] & 0x50 == 0x50:
            found.selects.add(pc)  # czero.eqz, czero.nez of Zicond
        at += size
    return found


def _x86(mode: Mode, address: int, code: bytes) -> Scan:
    found = Scan()
    for pc, size, mnemonic, operands in decoded_texts(mode, address, code):
        found.addresses.append(pc)
        found.sizes.append(size)
        first = mnemonic[0]
        if first == "j" or first == "l":
            if (first == "j" and mnemonic != "jmp") or mnemonic.startswith("loop"):
                found.branches[pc] = int(operands, 16)
        elif "nop" in mnemonic or (mnemonic == "xchg" and operands == "ax, ax"):
            found.fillers.append(len(found.addresses) - 1)
        elif mnemonic.startswith(("cmov", "set", "fcmov")) and mnemonic != "setssbsy":
            found.selects.add(pc)
    return found


_READERS: Final[dict[Mode, Callable[[Mode, int, bytes], Scan]]] = {
    Mode.THUMB: _thumb,
    Mode.ARM: _arm,
    Mode.A64: _a64,
    Mode.RV32: _riscv,
    Mode.RV64: _riscv,
    Mode.X86_16: _x86,
    Mode.X86_32: _x86,
    Mode.X86_64: _x86,
}


def _words(address: int, code: bytes) -> Scan:
    count = len(code) // 4
    return Scan(list(range(address, address + 4 * count, 4)), bytearray(b"\4" * count))


def _conditional(found: Scan, pc: int, end: End) -> None:
    if end.kind == EndKind.COND:
        found.branches[pc] = end.target


def _predicated(found: Scan, pc: int, end: End) -> None:
    """An instruction with a condition of its own, or in an IT block."""
    if is_branch(end.kind):
        found.branches[pc] = end.target
        if end.kind not in (EndKind.JUMP, EndKind.COND):
            found.effects.add(pc)
    else:
        found.predicated.add(pc)
