# SPDX-License-Identifier: GPL-2.0-or-later
"""How single RISC-V and x86 instructions from the assembler end a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gdbext.replay.classify import EndFlag, EndKind
from tests.support.assembler import (
    BASE,
    CONDITIONAL,
    MEMORY,
    NONE,
    REPEAT,
    WAIT,
    Assembler,
    check,
)

if TYPE_CHECKING:
    from pathlib import Path

RISCV = [
    ("addi a0, a0, 1", EndKind.FALL, NONE, None),
    ("lw a0, 0(a1)", EndKind.FALL, MEMORY, None),
    ("sw a0, 600(a1)", EndKind.FALL, MEMORY, None),
    ("c.swsp a0, 0(sp)", EndKind.FALL, MEMORY, None),
    ("amoadd.w a0, a1, (a2)", EndKind.FALL, MEMORY, None),
    ("csrw mtvec, a0", EndKind.FALL, NONE, None),
    ("c.mv a0, a1", EndKind.FALL, NONE, None),
    ("c.add a0, a1", EndKind.FALL, NONE, None),
    ("wfi", EndKind.FALL, WAIT, None),
    ("beq a0, a1, . + 0x100", EndKind.COND, NONE, 0x100),
    ("nop; bltu a0, a1, . - 0x1000", EndKind.COND, NONE, -0xFFE),
    ("c.beqz a0, . - 0x100", EndKind.COND, NONE, -0x100),
    ("c.bnez s1, . + 0xfe", EndKind.COND, NONE, 0xFE),
    ("jal zero, . + 0xffffe", EndKind.JUMP, NONE, 0xFFFFE),
    ("c.j . - 0x800", EndKind.JUMP, NONE, -0x800),
    ("c.j . + 0x7fe", EndKind.JUMP, NONE, 0x7FE),
    ("jal ra, . - 0x100000", EndKind.CALL, NONE, -0x100000),
    ("jal t0, . + 0x800", EndKind.CALL, NONE, 0x800),
    ("jal t1, . + 0x800", EndKind.JUMP, NONE, 0x800),
    ("ret", EndKind.RETURN, NONE, None),
    (".option norvc; jalr x0, 0(ra)", EndKind.RETURN, NONE, None),
    ("jr t0", EndKind.RETURN, NONE, None),
    ("jr a5", EndKind.JUMP_INDIRECT, NONE, None),
    ("jalr x0, 4(a5)", EndKind.JUMP_INDIRECT, NONE, None),
    ("jalr a5", EndKind.CALL_INDIRECT, NONE, None),
    ("jalr ra, 4(a5)", EndKind.CALL_INDIRECT, NONE, None),
    ("jalr t0, 4(a5)", EndKind.CALL_INDIRECT, NONE, None),
    ("jalr ra, 0(t0)", EndKind.CALL_INDIRECT, NONE, None),
    ("auipc ra, 1; jalr ra, -8(ra)", EndKind.CALL, NONE, 0xFF8),
    ("auipc t1, 0xfffff; jr t1", EndKind.JUMP, NONE, -0x1000),
    ("nop; auipc t0, 1; jalr t0, 6(t0)", EndKind.CALL, NONE, 0x1008),
    ("lui a5, 9; jalr ra, 4(a5)", EndKind.CALL, NONE, 0x9004 - BASE),
    ("lui a5, 0x8009; jr a5", EndKind.JUMP, NONE, 0x9000),
    ("auipc a4, 1; jr a5", EndKind.JUMP_INDIRECT, NONE, None),
    ("ecall", EndKind.TRAP_CALL, NONE, None),
    ("ebreak", EndKind.TRAP_CALL, NONE, None),
    ("c.ebreak", EndKind.TRAP_CALL, NONE, None),
    ("unimp", EndKind.TRAP_CALL, NONE, None),
    (".option norvc; unimp", EndKind.TRAP_CALL, NONE, None),
    ("mret", EndKind.TRAP_RETURN, NONE, None),
    ("sret", EndKind.TRAP_RETURN, NONE, None),
]


@pytest.mark.parametrize(
    ("text", "kind", "flags", "offset"),
    [
        *RISCV,
        ("c.jal . + 0x100", EndKind.CALL, NONE, 0x100),
        ("c.flw fa0, 0(a0)", EndKind.FALL, MEMORY, None),
    ],
)
def test_rv32(tmp_path: Path, text: str, kind: EndKind, flags: EndFlag, offset: int | None) -> None:
    assembler = Assembler(tmp_path, "riscv64-unknown-elf-", "-march=rv32imafdc_zicsr")

    check("riscv32", assembler.block(text), kind, flags, offset)


@pytest.mark.parametrize(
    ("text", "kind", "flags", "offset"),
    [
        *RISCV,
        ("c.addiw a0, 5", EndKind.FALL, NONE, None),
        ("c.ld a0, 0(a0)", EndKind.FALL, MEMORY, None),
    ],
)
def test_rv64(tmp_path: Path, text: str, kind: EndKind, flags: EndFlag, offset: int | None) -> None:
    assembler = Assembler(tmp_path, "riscv64-unknown-elf-", "-march=rv64imafdc_zicsr")

    check("riscv64", assembler.block(text), kind, flags, offset)


X86 = [
    ("nop", EndKind.FALL, NONE, None),
    ("add %eax, %ebx", EndKind.FALL, NONE, None),
    ("add $5, %al", EndKind.FALL, NONE, None),
    ("lea 8(%edx), %eax", EndKind.FALL, NONE, None),
    ("cli", EndKind.FALL, NONE, None),
    ("cpuid", EndKind.FALL, NONE, None),
    ("outb %al, $0x80", EndKind.FALL, NONE, None),
    ("movzbl %al, %eax", EndKind.FALL, NONE, None),
    ("pxor %xmm0, %xmm1", EndKind.FALL, NONE, None),
    ("vaddps %ymm0, %ymm1, %ymm2", EndKind.FALL, NONE, None),
    ("add %eax, 4(%edx)", EndKind.FALL, MEMORY, None),
    ("mov (%edx), %eax", EndKind.FALL, MEMORY, None),
    ("movzbl (%edx), %eax", EndKind.FALL, MEMORY, None),
    ("lock cmpxchg %eax, (%edx)", EndKind.FALL, MEMORY, None),
    ("fldl (%edx)", EndKind.FALL, MEMORY, None),
    ("pshufb (%edx), %xmm0", EndKind.FALL, MEMORY, None),
    ("vaddps (%edx), %ymm1, %ymm2", EndKind.FALL, MEMORY, None),
    ("leave", EndKind.FALL, MEMORY, None),
    ("movsb", EndKind.FALL, MEMORY, None),
    ("rep movsb", EndKind.FALL, REPEAT, None),
    ("repne scasb", EndKind.FALL, REPEAT, None),
    ("rep insw", EndKind.FALL, REPEAT, None),
    ("hlt", EndKind.FALL, WAIT, None),
    ("mwait", EndKind.FALL, WAIT, None),
    ("nop; jmp . + 5", EndKind.JUMP, NONE, 6),
    ("jmp . + 0x1234", EndKind.JUMP, NONE, 0x1234),
    ("je . - 0x10", EndKind.COND, NONE, -0x10),
    ("jg . + 0x1000", EndKind.COND, NONE, 0x1000),
    ("loop . - 2", EndKind.COND, NONE, -2),
    ("call . + 0x1000", EndKind.CALL, NONE, 0x1000),
    ("ret", EndKind.RETURN, NONE, None),
    ("ret $8", EndKind.RETURN, NONE, None),
    ("rep ret", EndKind.RETURN, NONE, None),
    ("lret", EndKind.RETURN, NONE, None),
    ("iret", EndKind.TRAP_RETURN, NONE, None),
    ("rsm", EndKind.TRAP_RETURN, NONE, None),
    ("sysret", EndKind.TRAP_RETURN, NONE, None),
    ("sysexit", EndKind.TRAP_RETURN, NONE, None),
    ("int $0x80", EndKind.TRAP_CALL, NONE, None),
    ("int3", EndKind.TRAP_CALL, NONE, None),
    ("syscall", EndKind.TRAP_CALL, NONE, None),
    ("sysenter", EndKind.TRAP_CALL, NONE, None),
    ("ud2", EndKind.TRAP_CALL, NONE, None),
]


@pytest.mark.parametrize(
    ("text", "kind", "flags", "offset"),
    [
        *X86,
        ("push %rax", EndKind.FALL, MEMORY, None),
        ("pushq 8(%rax)", EndKind.FALL, MEMORY, None),
        ("mov %r8, %r9", EndKind.FALL, NONE, None),
        ("vmovups (%rax), %zmm1", EndKind.FALL, MEMORY, None),
        ("vaddps %zmm0, %zmm1, %zmm2", EndKind.FALL, NONE, None),
        ("jrcxz . + 6", EndKind.COND, NONE, 6),
        ("call *%rax", EndKind.CALL_INDIRECT, NONE, None),
        ("call *8(%r12)", EndKind.CALL_INDIRECT, NONE, None),
        ("notrack jmp *%rax", EndKind.JUMP_INDIRECT, NONE, None),
        ("jmp *0x1234(%rip)", EndKind.JUMP_INDIRECT, NONE, None),
        # bnd call . + 0x1000, which newer assemblers refuse
        (".byte 0xf2, 0xe8, 0xfa, 0x0f, 0, 0", EndKind.CALL, NONE, 0x1000),
        ("iretq", EndKind.TRAP_RETURN, NONE, None),
        ("sysretq", EndKind.TRAP_RETURN, NONE, None),
        ("rep stosq", EndKind.FALL, REPEAT, None),
    ],
)
def test_x86_64(
    tmp_path: Path, text: str, kind: EndKind, flags: EndFlag, offset: int | None
) -> None:
    assembler = Assembler(tmp_path, "", "--64")

    check("x86_64", assembler.block(text), kind, flags, offset)


@pytest.mark.parametrize(
    ("text", "kind", "flags", "offset"),
    [
        *X86,
        ("push %eax", EndKind.FALL, MEMORY, None),
        ("inc %eax", EndKind.FALL, NONE, None),
        ("mov %eax, %cr0", EndKind.FALL, NONE, None),
        ("pusha", EndKind.FALL, MEMORY, None),
        ("les (%eax), %eax", EndKind.FALL, MEMORY, None),
        ("jecxz . + 6", EndKind.COND, NONE, 6),
        ("call *%eax", EndKind.CALL_INDIRECT, NONE, None),
        ("jmp *%eax", EndKind.JUMP_INDIRECT, NONE, None),
        ("ljmp $8, $0x1000", EndKind.JUMP_INDIRECT, NONE, None),
        ("lcall $8, $0x1000", EndKind.CALL_INDIRECT, NONE, None),
        ("into", EndKind.TRAP_CALL, CONDITIONAL, None),
    ],
)
def test_x86_32(
    tmp_path: Path, text: str, kind: EndKind, flags: EndFlag, offset: int | None
) -> None:
    assembler = Assembler(tmp_path, "", "--32")

    check("i386", assembler.block(text), kind, flags, offset)


@pytest.mark.parametrize(
    ("text", "kind", "flags", "offset"),
    [
        ("jmp . + 0x123", EndKind.JUMP, NONE, 0x123),
        ("call . + 0x123", EndKind.CALL, NONE, 0x123),
        ("jne . + 0x123", EndKind.COND, NONE, 0x123),
        ("calll . + 0x123", EndKind.CALL, NONE, 0x123),
        ("call *%ax", EndKind.CALL_INDIRECT, NONE, None),
        ("ljmpl $8, $0x1000", EndKind.JUMP_INDIRECT, NONE, None),
        ("iret", EndKind.TRAP_RETURN, NONE, None),
        ("int $0x10", EndKind.TRAP_CALL, NONE, None),
    ],
)
def test_x86_16(
    tmp_path: Path, text: str, kind: EndKind, flags: EndFlag, offset: int | None
) -> None:
    assembler = Assembler(tmp_path, "", "--32", ".code16\n")

    check("i386", assembler.block(text, ("-Mi8086",)), kind, flags, offset)
