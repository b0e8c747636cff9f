# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions as text, and their sizes as Capstone sees them."""

from __future__ import annotations

from functools import cache

import capstone

from gdbext.errors import UsageError
from gdbext.replay.kinds import Mode

_CAPSTONE: dict[Mode, tuple[int, int]] = {
    # MCLASS would refuse what only A profile has; without it both are read.
    Mode.THUMB: (capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_V8),
    Mode.ARM: (capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM | capstone.CS_MODE_V8),
    Mode.A64: (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
    Mode.RV32: (capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV32 | capstone.CS_MODE_RISCVC),
    Mode.RV64: (capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV64 | capstone.CS_MODE_RISCVC),
    Mode.X86_16: (capstone.CS_ARCH_X86, capstone.CS_MODE_16),
    Mode.X86_32: (capstone.CS_ARCH_X86, capstone.CS_MODE_32),
    Mode.X86_64: (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
}


def disassemble(target: str, mode: int, address: int, code: bytes) -> str:
    """One instruction as text, for example "bl 0x1a4".

    Args:
        target: QEMU's target name; gives the mode when `mode` is UNDECIDED.
        mode: of the block, as `classify` says.
        address: of the instruction.
        code: its bytes.

    Returns:
        ".byte 0x.., 0x.." for bytes that Capstone cannot read.
    """
    decoder = _decoder(Mode(mode) if mode else default_mode(target))
    for _, _, mnemonic, operands in decoder.disasm_lite(code, address, 1):
        return f"{mnemonic} {operands}".rstrip()
    return ".byte " + ", ".join(f"{byte:#04x}" for byte in code)


def sizes_agree(mode: Mode, sizes: bytes, code: bytes, address: int) -> bool:
    """Whether Capstone cuts `code` into instructions of these sizes in this mode."""
    decoded = _decoder(mode).disasm_lite(code, address)
    return bytes(size for _, size, _, _ in decoded) == sizes


def is_known(mode: Mode, code: bytes, address: int) -> bool:
    """Whether Capstone knows this one instruction, with this size."""
    return any(size == len(code) for _, size, _, _ in _decoder(mode).disasm_lite(code, address, 1))


def default_mode(target: str) -> Mode:
    """The mode to show code of `target` in when nothing else is known.

    Raises:
        UsageError: a target this gdbext does not know.
    """
    try:
        return _DEFAULTS[target]
    except KeyError:
        known = ", ".join(sorted(_DEFAULTS))
        raise UsageError(f"target '{target}' is not known; known are {known}") from None


_DEFAULTS = {
    "arm": Mode.THUMB,
    "aarch64": Mode.A64,
    "riscv32": Mode.RV32,
    "riscv64": Mode.RV64,
    "i386": Mode.X86_32,
    "x86_64": Mode.X86_64,
}


@cache
def _decoder(mode: Mode) -> capstone.Cs:
    arch, flags = _CAPSTONE[mode]
    return capstone.Cs(arch, flags)


def insn_sizes(mode: Mode, address: int, code: bytes) -> list[int]:
    """Sizes of the instructions that `code` holds one after the other, in bytes.

    Ends early where the bytes are no instruction (x86) or an instruction is cut.
    """
    sizes: list[int] = []
    at = 0
    if mode in (Mode.X86_16, Mode.X86_32, Mode.X86_64):
        return [size for _, size, _, _ in _decoder(mode).disasm_lite(code, address)]
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
