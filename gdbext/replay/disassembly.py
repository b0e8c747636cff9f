# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions as text, and their sizes as Capstone sees them."""

from __future__ import annotations

from functools import cache

import capstone

from gdbext.errors import UsageError
from gdbext.replay.kinds import Mode

_CAPSTONE: dict[Mode, tuple[int, int]] = {
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
    for decoder in _decoders(Mode(mode) if mode else default_mode(target)):
        for _, _, mnemonic, operands in decoder.disasm_lite(code, address, 1):
            return f"{mnemonic} {operands}".rstrip()
    return ".byte " + ", ".join(f"{byte:#04x}" for byte in code)


def sizes_agree(mode: Mode, sizes: bytes, code: bytes, address: int) -> bool:
    """Whether Capstone cuts `code` into instructions of these sizes in this mode."""
    decoded = _decoders(mode)[0].disasm_lite(code, address)
    return bytes(size for _, size, _, _ in decoded) == sizes


def decoded_texts(mode: Mode, address: int, code: bytes) -> list[tuple[int, int, str, str]]:
    """Address, size, mnemonic and operands of the instructions, up to bytes that are none."""
    return list(_decoders(mode)[0].disasm_lite(code, address))


def is_known(mode: Mode, code: bytes, address: int) -> bool:
    """Whether Capstone knows this one instruction, with this size."""
    return any(
        size == len(code)
        for decoder in _decoders(mode)
        for _, size, _, _ in decoder.disasm_lite(code, address, 1)
    )


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
def _decoders(mode: Mode) -> tuple[capstone.Cs, ...]:
    """Decoders to ask one after the other: M profile has Thumb instructions of its own."""
    arch, flags = _CAPSTONE[mode]
    own = (capstone.Cs(arch, flags),)
    if mode == Mode.THUMB:
        return (*own, capstone.Cs(arch, flags | capstone.CS_MODE_MCLASS))
    return own
