# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a Linux program's signal handler returns: the system call `rt_sigreturn` or `sigreturn`.

The kernel (here QEMU) or the C library has the handler return to a few instructions that load the
call's number and make it. Numbers: sigreturn(2) and the kernel's tables of system calls.
"""

from __future__ import annotations

from typing import Final

__all__ = ["returns_from_signal"]


def _words(*values: int, size: int = 4) -> tuple[bytes, ...]:
    return tuple(value.to_bytes(size, "little") for value in values)


_RISCV: Final = _words(0x08B00893)  # li a7, 139
_LOADS: Final[dict[str, tuple[bytes, ...]]] = {
    "arm": (
        *_words(0xE3A07077, 0xE3A070AD),  # mov r7, #119; mov r7, #173
        *_words(0x2777, 0x27AD, size=2),  # the same in T32
    ),
    "aarch64": _words(0xD2801168),  # mov x8, #139
    "riscv32": _RISCV,
    "riscv64": _RISCV,
    "i386": (bytes.fromhex("b877000000"), bytes.fromhex("b8ad000000")),  # mov eax, 119; 173
    "x86_64": (bytes.fromhex("48c7c00f000000"), bytes.fromhex("b80f000000")),  # mov rax, 15
}
"""By QEMU's target name: the instruction before the one that makes the call."""


def returns_from_signal(target: str, sizes: bytes, code: bytes) -> bool:
    """Whether a block that ends with a system call makes one of these."""
    if len(sizes) < 2:
        return False
    return code[: -sizes[-1]].endswith(_LOADS.get(target, ()))
