# SPDX-License-Identifier: GPL-2.0-or-later
"""Where instructions begin in code that did not run: their sizes, read from the encoding."""

from __future__ import annotations

from gdbext.replay.disassembly import decoded_sizes
from gdbext.replay.kinds import Mode

__all__ = ["FILLERS", "code_sizes", "insn_sizes"]

# What assemblers fill gaps with before data and functions that must be aligned.
FILLERS: dict[Mode, tuple[bytes, ...]] = {
    Mode.THUMB: (b"\x00\xbf", b"\xc0\x46", b"\x00\x00", b"\xaf\xf3\x00\x80"),
    Mode.ARM: (b"\x00\xf0\x20\xe3", b"\x00\x00\xa0\xe1"),
    Mode.A64: (b"\x1f\x20\x03\xd5",),
    Mode.RV32: (b"\x01\x00", b"\x13\x00\x00\x00"),
    Mode.RV64: (b"\x01\x00", b"\x13\x00\x00\x00"),
}


def code_sizes(mode: Mode, address: int, code: bytes) -> list[int]:
    """As insn_sizes, without the no-operations at the end that only fill a gap."""
    sizes = insn_sizes(mode, address, code)
    end = sum(sizes)
    while sizes and code[end - sizes[-1] : end] in FILLERS.get(mode, ()):
        end -= sizes.pop()
    return sizes


def insn_sizes(mode: Mode, address: int, code: bytes) -> list[int]:
    """Sizes of the instructions that `code` holds one after the other, in bytes.

    Ends early where the bytes are no instruction (x86) or an instruction is cut.
    """
    if mode in (Mode.X86_16, Mode.X86_32, Mode.X86_64):
        return decoded_sizes(mode, address, code)
    sizes: list[int] = []
    at = 0
    while at < len(code):
        size = _encoded_size(mode, code, at)
        if at + size > len(code):
            break
        sizes.append(size)
        at += size
    return sizes


def _encoded_size(mode: Mode, code: bytes, at: int) -> int:
    """Size that the first bytes of an instruction say; of the fixed-length sets, 4."""
    if mode == Mode.THUMB:
        return 4 if at + 1 < len(code) and code[at + 1] >= 0xE8 else 2
    if mode in (Mode.RV32, Mode.RV64):
        return 4 if code[at] & 3 == 3 else 2
    return 4
