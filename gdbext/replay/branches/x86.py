# SPDX-License-Identifier: GPL-2.0-or-later
"""x86 in 16, 32 and 64 bits: Intel's manual, volume 2, appendix A.

QEMU gives the length of each instruction, so the mode need not be known here: what is left behind
the opcode of a relative branch is its offset.
"""

from __future__ import annotations

from gdbext.replay.kinds import (
    CALL_INDIRECT,
    FALL,
    FALL_MEMORY,
    FALL_WAIT,
    JUMP_INDIRECT,
    RETURN,
    TRAP_CALL,
    TRAP_RETURN,
    UNKNOWN,
    End,
    EndFlag,
    EndKind,
    predicated,
)

_PREFIXES = frozenset(b"\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65")
_STRINGS = frozenset((*range(0x6C, 0x70), *range(0xA4, 0xA8), *range(0xAA, 0xB0)))
_FALL_REPEAT = End(EndKind.FALL, EndFlag.REPEAT)

_ONE_BYTE: dict[int, End] = {
    0x9A: CALL_INDIRECT,  # far, to another segment: the address depends on its base
    0xEA: JUMP_INDIRECT,
    0xC2: RETURN,
    0xC3: RETURN,
    0xCA: RETURN,
    0xCB: RETURN,
    0xCC: TRAP_CALL,
    0xCD: TRAP_CALL,
    0xCE: predicated(TRAP_CALL),
    0xCF: TRAP_RETURN,
    0xF1: TRAP_CALL,
    0xF4: FALL_WAIT,
}
_TWO_BYTE: dict[int, End] = {
    0x05: TRAP_CALL,  # syscall
    0x07: TRAP_RETURN,  # sysret
    0x0B: TRAP_CALL,  # ud2
    0x34: TRAP_CALL,  # sysenter
    0x35: TRAP_RETURN,  # sysexit
    0xAA: TRAP_RETURN,  # rsm
    0xB9: TRAP_CALL,  # ud1
    0xFF: TRAP_CALL,  # ud0
}
_GROUP_5 = {2: CALL_INDIRECT, 3: CALL_INDIRECT, 4: JUMP_INDIRECT, 5: JUMP_INDIRECT}
_GROUP_7 = {0xC1: TRAP_CALL, 0xC9: FALL_WAIT, 0xD9: TRAP_CALL}  # vmcall, mwait, vmmcall

# Opcodes without memory access and without ModRM byte; those with one are told by it.
_NO_MEMORY = frozenset(
    (
        *(row + column for row in range(0, 0x40, 8) for column in (4, 5)),
        *(0x27, 0x2F, 0x37, 0x3F),
        *range(0x40, 0x50),
        *range(0x90, 0x9A),
        *(0x9B, 0x9E, 0x9F, 0xA8, 0xA9),
        *range(0xB0, 0xC0),
        *range(0xD4, 0xD7),
        *range(0xE4, 0xE8),
        *range(0xEC, 0xF0),
        *(0xF5, 0xF8, 0xF9, 0xFA, 0xFB, 0xFC, 0xFD),
    )
)
_NO_MEMORY_TWO_BYTE = frozenset(
    (0x06, 0x08, 0x09, 0x0E, *range(0x20, 0x24), *range(0x30, 0x34), 0x37, 0x77, 0xA2)
) | frozenset(range(0xC8, 0xD0))
_PUSH_POP_TWO_BYTE = frozenset((0xA0, 0xA1, 0xA8, 0xA9))
_MODRM = frozenset(
    (
        *(row + column for row in range(0, 0x40, 8) for column in range(4)),
        *(0x63, 0x69, 0x6B),
        *range(0x80, 0x8D),
        *(0x8E, 0x8F, 0xC0, 0xC1, 0xC6, 0xC7),
        *range(0xD0, 0xD4),
        *range(0xD8, 0xE0),
        *(0xF6, 0xF7, 0xFE, 0xFF),
    )
)


def end_of(address: int, sizes: bytes, code: bytes, *, bits: int) -> End:
    """How a block ends; `bits` is the width of an address, 32 or 64."""
    insn = code[-sizes[-1] :]
    after = address + len(code)
    place = 0
    while place < len(insn) and insn[place] in _PREFIXES:
        place += 1
    if place + 1 < len(insn) and insn[place] & 0xF0 == 0x40:  # REX; alone it is inc or dec
        place += 1
    if place >= len(insn):
        return UNKNOWN
    opcode = insn[place]
    mask = (1 << bits) - 1
    if opcode & 0xF0 == 0x70 or 0xE0 <= opcode <= 0xE3:
        return _relative(EndKind.COND, insn[place + 1 :], after, mask)
    if opcode == 0xE8:
        return _relative(EndKind.CALL, insn[place + 1 :], after, mask)
    if opcode in (0xE9, 0xEB):
        return _relative(EndKind.JUMP, insn[place + 1 :], after, mask)
    if opcode == 0x0F:
        return _two_byte(insn[place + 1 :], after, mask)
    known = _ONE_BYTE.get(opcode)
    if known is not None:
        return known
    if opcode == 0xFF and place + 1 < len(insn):
        known = _GROUP_5.get(insn[place + 1] >> 3 & 7)
        if known is not None:
            return known
    if opcode in _STRINGS and (0xF2 in insn[:place] or 0xF3 in insn[:place]):
        return _FALL_REPEAT
    return FALL_MEMORY if _may_access_memory(opcode, insn[place + 1 :]) else FALL


def _relative(kind: EndKind, offset: bytes, after: int, mask: int) -> End:
    """A branch relative to the instruction after it."""
    if not offset:
        return UNKNOWN
    return End(kind, 0, after + int.from_bytes(offset, "little", signed=True) & mask)


def _two_byte(rest: bytes, after: int, mask: int) -> End:
    """Opcode 0F."""
    if not rest:
        return UNKNOWN
    opcode = rest[0]
    if opcode & 0xF0 == 0x80:
        return _relative(EndKind.COND, rest[1:], after, mask)
    known = _TWO_BYTE.get(opcode)
    if known is None and opcode == 0x01 and len(rest) > 1:
        known = _GROUP_7.get(rest[1])
    if known is not None:
        return known
    if opcode in _NO_MEMORY_TWO_BYTE:
        return FALL
    if opcode in _PUSH_POP_TWO_BYTE:
        return FALL_MEMORY
    modrm = rest[2:] if opcode in (0x38, 0x3A) else rest[1:]
    return FALL if modrm and modrm[0] >= 0xC0 else FALL_MEMORY


def _may_access_memory(opcode: int, rest: bytes) -> bool:
    """One-byte opcodes, and VEX and EVEX; yes when in doubt."""
    if opcode in _NO_MEMORY or opcode == 0x8D:
        return False
    if opcode in _MODRM:
        # push and pop of group 5 and 1A touch memory even with a register
        touches = opcode == 0x8F or (opcode == 0xFF and bool(rest) and rest[0] >> 3 & 7 == 6)
        return touches or not rest or rest[0] < 0xC0
    skipped = {0xC5: 2, 0xC4: 3, 0x62: 4}.get(opcode)
    if skipped is not None and rest and rest[0] >= 0xC0 and len(rest) > skipped:
        return rest[skipped] < 0xC0
    return True
