# SPDX-License-Identifier: GPL-2.0-or-later
"""Single instructions from the assembler, and instruction sets told apart."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from gdbext.errors import UsageError
from gdbext.recording.blocks import BlockTable, pack_block
from gdbext.replay.classify import (
    NO_TARGET,
    Classifier,
    EndFlag,
    EndKind,
    Mode,
    classify,
    conditional_insns,
    disassemble,
)
from tests.truth.listing import listing

if TYPE_CHECKING:
    from pathlib import Path

NONE = EndFlag.NONE
CONDITIONAL = EndFlag.CONDITIONAL
MEMORY = EndFlag.MEMORY
EXC = EndFlag.MAY_EXC_RETURN
WAIT = EndFlag.WAIT
REPEAT = EndFlag.REPEAT

BASE = 0x8000000

Block = tuple[int, bytes, bytes]
"""Address, sizes, code."""


def table_of(blocks: list[Block]) -> BlockTable:
    table = BlockTable()
    table.append(b"".join(pack_block(*block) for block in blocks), "test")
    return table


class Assembler:
    """One GNU assembler with fixed options."""

    def __init__(self, tmp_path: Path, prefix: str, options: str, head: str = "") -> None:
        self.assembler = f"{prefix}as"
        self.path = tmp_path
        self.prefix = prefix
        self.options = options.split()
        self.head = head
        if shutil.which(self.assembler) is None:
            pytest.skip(f"{self.assembler} is not installed")

    def block(self, text: str, objdump_options: tuple[str, ...] = ()) -> Block:
        """A block at BASE that holds these instructions (separated by semicolons)."""
        source, out = self.path / "a.s", self.path / "a.o"
        source.write_text(self.head + text.replace(";", "\n") + "\n")
        subprocess.run([self.assembler, *self.options, "-o", out, source], check=True)
        objdump = f"{self.prefix}objdump"
        objdump = objdump if shutil.which(objdump) else "objdump"
        insns = [insn for insn in listing(objdump, out, "-z", *objdump_options) if insn is not None]
        sizes = bytes(len(insn.code) for insn in insns)
        return BASE, sizes, b"".join(insn.code for insn in insns)


def check(
    target: str,
    block: Block,
    kind: EndKind,
    flags: EndFlag,
    offset: int | None,
    *,
    mode: str | None = None,
    m_profile: bool = False,
) -> None:
    """The block ends so; `offset` is that of its target from BASE."""
    result = classify(target, table_of([block]), lambda _: mode, m_profile)

    assert EndKind(result.end_kind[1]) == kind
    assert EndFlag(result.flags[1]) == flags
    assert result.target[1] == (NO_TARGET if offset is None else BASE + offset)


@pytest.mark.parametrize(
    ("text", "kind", "flags", "offset"),
    [
        ("nop", EndKind.FALL, NONE, None),
        ("ldr r0, [r1]", EndKind.FALL, MEMORY, None),
        ("str r0, [sp, #4]", EndKind.FALL, MEMORY, None),
        ("ldr r0, [pc, #8]", EndKind.FALL, MEMORY, None),
        ("push {r4, lr}", EndKind.FALL, MEMORY, None),
        ("pop {r4}", EndKind.FALL, MEMORY, None),
        ("ldmia r0!, {r1, r2}", EndKind.FALL, MEMORY, None),
        ("strd r0, r1, [r2]", EndKind.FALL, MEMORY, None),
        ("ldrex r0, [r1]", EndKind.FALL, MEMORY, None),
        ("vldr s0, [r0]", EndKind.FALL, MEMORY, None),
        ("add sp, #8", EndKind.FALL, NONE, None),
        ("wfi", EndKind.FALL, WAIT, None),
        ("wfe.w", EndKind.FALL, WAIT, None),
        ("dsb", EndKind.FALL, NONE, None),
        ("msr primask, r0", EndKind.FALL, NONE, None),
        ("nop; b . + 8", EndKind.JUMP, NONE, 10),
        ("b.w . - 0x1000", EndKind.JUMP, NONE, -0x1000),
        ("bne . - 6", EndKind.COND, NONE, -6),
        ("bgt.w . + 0x10000", EndKind.COND, NONE, 0x10000),
        ("bl . - 0x3ffffc", EndKind.CALL, NONE, -0x3FFFFC),
        ("bl . + 0xfffffe", EndKind.CALL, NONE, 0xFFFFFE),
        ("cbz r0, . + 0x40", EndKind.COND, NONE, 0x40),
        ("blx r3", EndKind.CALL_INDIRECT, NONE, None),
        ("bx lr", EndKind.RETURN, EXC, None),
        ("bx r3", EndKind.JUMP_INDIRECT, EXC, None),
        ("mov pc, r3", EndKind.JUMP_INDIRECT, NONE, None),
        ("mov pc, lr", EndKind.RETURN, NONE, None),
        ("add pc, r1", EndKind.JUMP_INDIRECT, NONE, None),
        ("pop {r4, pc}", EndKind.RETURN, EXC, None),
        ("pop.w {r8, pc}", EndKind.RETURN, EXC, None),
        ("ldr pc, [sp], #8", EndKind.RETURN, EXC, None),
        ("ldmdb r7, {r4, pc}", EndKind.RETURN, EXC, None),
        ("ldr pc, [pc, #4]", EndKind.JUMP_INDIRECT, EXC, None),
        ("ldr.w pc, [r1, r2, lsl #2]", EndKind.JUMP_INDIRECT, EXC, None),
        ("tbb [pc, r0]", EndKind.JUMP_INDIRECT, NONE, None),
        ("tbh [pc, r0, lsl #1]", EndKind.JUMP_INDIRECT, NONE, None),
        ("svc 3", EndKind.TRAP_CALL, NONE, None),
        ("bkpt 0xab", EndKind.TRAP_CALL, NONE, None),
        ("udf 1", EndKind.TRAP_CALL, NONE, None),
        ("udf.w 1", EndKind.TRAP_CALL, NONE, None),
        ("it eq; bxeq lr", EndKind.RETURN, EXC | CONDITIONAL, None),
        ("itt ne; movne r0, r1; popne {r4, pc}", EndKind.RETURN, EXC | CONDITIONAL, None),
        ("ite ne; movne r0, r1; bleq . + 8", EndKind.CALL, CONDITIONAL, 12),
        ("it ne; blxne r3", EndKind.CALL_INDIRECT, CONDITIONAL, None),
        ("it ne; movne r0, r1; bx lr", EndKind.RETURN, EXC, None),
        ("it ne; ldrne r0, [r1]", EndKind.FALL, MEMORY, None),
        ("itttt ne; nop; nop; nop; bne . + 0x100", EndKind.COND, NONE, 0x108),
    ],
)
def test_thumb(
    tmp_path: Path, text: str, kind: EndKind, flags: EndFlag, offset: int | None
) -> None:
    head = ".syntax unified\n.thumb\n"
    assembler = Assembler(tmp_path, "arm-none-eabi-", "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16", head)

    check("arm", assembler.block(text), kind, flags, offset, mode="thumb", m_profile=True)


@pytest.mark.parametrize(
    ("text", "kind", "flags", "offset"),
    [
        ("blx . + 0x100", EndKind.CALL, NONE, 0x100),
        ("nop; blx . + 0x102", EndKind.CALL, NONE, 0x104),
        ("bx pc; nop", EndKind.FALL, NONE, None),
        ("nop; bx pc", EndKind.JUMP, NONE, 4),
        ("subs pc, lr, #4", EndKind.TRAP_RETURN, NONE, None),
        ("rfeia sp!", EndKind.TRAP_RETURN, NONE, None),
        ("bxj lr", EndKind.RETURN, NONE, None),
        ("smc #0", EndKind.TRAP_CALL, NONE, None),
        ("bx lr", EndKind.RETURN, NONE, None),
        ("vld1.8 {d0}, [r0]", EndKind.FALL, MEMORY, None),
    ],
)
def test_thumb_of_a_profile(
    tmp_path: Path, text: str, kind: EndKind, flags: EndFlag, offset: int | None
) -> None:
    head = ".syntax unified\n.thumb\n.arch_extension sec\n"
    assembler = Assembler(tmp_path, "arm-none-eabi-", "-march=armv7-a -mfpu=neon", head)

    check("arm", assembler.block(text), kind, flags, offset, mode="thumb")


@pytest.mark.parametrize(
    ("text", "kind", "flags", "offset"),
    [
        ("nop", EndKind.FALL, NONE, None),
        ("movne r0, r1", EndKind.FALL, NONE, None),
        ("ldr r0, [r1]", EndKind.FALL, MEMORY, None),
        ("strh r0, [r1]", EndKind.FALL, MEMORY, None),
        ("swp r0, r1, [r2]", EndKind.FALL, MEMORY, None),
        ("ldrex r0, [r1]", EndKind.FALL, MEMORY, None),
        ("mul r0, r1, r2", EndKind.FALL, NONE, None),
        ("umull r0, r1, r2, r3", EndKind.FALL, NONE, None),
        ("sxtb r0, r1", EndKind.FALL, NONE, None),
        ("push {r4, lr}", EndKind.FALL, MEMORY, None),
        ("vldr d0, [r0]", EndKind.FALL, MEMORY, None),
        ("mcr p15, 0, r0, c7, c5, 0", EndKind.FALL, NONE, None),
        ("movw r0, #0xffff", EndKind.FALL, NONE, None),
        ("cmp r0, r15", EndKind.FALL, NONE, None),
        ("wfi", EndKind.FALL, WAIT, None),
        ("nop; b . - 0x100", EndKind.JUMP, NONE, -0xFC),
        ("bne . + 0x1fffffc", EndKind.COND, NONE, 0x1FFFFFC),
        ("bl . + 8", EndKind.CALL, NONE, 8),
        ("blls . + 8", EndKind.CALL, CONDITIONAL, 8),
        ("blx . + 0x106", EndKind.CALL, NONE, 0x106),
        ("blx r4", EndKind.CALL_INDIRECT, NONE, None),
        ("blxeq r4", EndKind.CALL_INDIRECT, CONDITIONAL, None),
        ("bx lr", EndKind.RETURN, NONE, None),
        ("bxeq lr", EndKind.RETURN, CONDITIONAL, None),
        ("bx r12", EndKind.JUMP_INDIRECT, NONE, None),
        ("mov lr, pc; bx r3", EndKind.CALL_INDIRECT, NONE, None),
        ("mov lr, pc; ldr pc, [r3, #8]", EndKind.CALL_INDIRECT, NONE, None),
        ("mov pc, lr", EndKind.RETURN, NONE, None),
        ("movs pc, lr", EndKind.TRAP_RETURN, NONE, None),
        ("subs pc, lr, #4", EndKind.TRAP_RETURN, NONE, None),
        ("pop {r4, pc}", EndKind.RETURN, NONE, None),
        ("popne {r4, pc}", EndKind.RETURN, CONDITIONAL, None),
        ("ldmdb r11, {r4, r11, sp, pc}", EndKind.RETURN, NONE, None),
        ("ldmia sp!, {r0-r12, pc}^", EndKind.TRAP_RETURN, NONE, None),
        ("ldr pc, [sp], #4", EndKind.RETURN, NONE, None),
        ("ldr pc, [pc, #-4]", EndKind.JUMP_INDIRECT, NONE, None),
        ("ldrls pc, [pc, r3, lsl #2]", EndKind.JUMP_INDIRECT, CONDITIONAL, None),
        ("addls pc, pc, r3, lsl #2", EndKind.JUMP_INDIRECT, CONDITIONAL, None),
        ("add pc, pc, #0x400", EndKind.JUMP, NONE, 0x408),
        ("sub pc, pc, #0x10", EndKind.JUMP, NONE, -8),
        ("rfeia sp!", EndKind.TRAP_RETURN, NONE, None),
        ("svc 1", EndKind.TRAP_CALL, NONE, None),
        ("svcne 1", EndKind.TRAP_CALL, CONDITIONAL, None),
        ("bkpt 1", EndKind.TRAP_CALL, NONE, None),
        ("udf #1", EndKind.TRAP_CALL, NONE, None),
        ("smc #0", EndKind.TRAP_CALL, NONE, None),
        ("hvc #0", EndKind.TRAP_CALL, NONE, None),
        ("eret", EndKind.TRAP_RETURN, NONE, None),
    ],
)
def test_a32(tmp_path: Path, text: str, kind: EndKind, flags: EndFlag, offset: int | None) -> None:
    head = ".syntax unified\n.arm\n.arch_extension sec\n.arch_extension virt\n"
    assembler = Assembler(tmp_path, "arm-none-eabi-", "-march=armv7ve -mfpu=neon", head)

    check("arm", assembler.block(text), kind, flags, offset, mode="arm")


@pytest.mark.parametrize(
    ("text", "kind", "flags", "offset"),
    [
        ("nop", EndKind.FALL, NONE, None),
        ("add x0, x1, x2", EndKind.FALL, NONE, None),
        ("fadd d0, d1, d2", EndKind.FALL, NONE, None),
        ("ldr x0, [x1]", EndKind.FALL, MEMORY, None),
        ("stp x29, x30, [sp, #-16]!", EndKind.FALL, MEMORY, None),
        ("ldxr x0, [x1]", EndKind.FALL, MEMORY, None),
        ("ld1 {v0.16b}, [x0]", EndKind.FALL, MEMORY, None),
        ("ldr x0, . + 8", EndKind.FALL, MEMORY, None),
        ("dc zva, x0", EndKind.FALL, MEMORY, None),
        ("msr daifset, #2", EndKind.FALL, NONE, None),
        ("wfi", EndKind.FALL, WAIT, None),
        ("wfe", EndKind.FALL, WAIT, None),
        ("nop; b . - 0x100", EndKind.JUMP, NONE, -0xFC),
        ("b . + 0x7fffffc", EndKind.JUMP, NONE, 0x7FFFFFC),
        ("bl . - 0x1000", EndKind.CALL, NONE, -0x1000),
        ("b.ne . + 0xffffc", EndKind.COND, NONE, 0xFFFFC),
        ("b.al . + 8", EndKind.JUMP, NONE, 8),
        ("cbz w0, . - 8", EndKind.COND, NONE, -8),
        ("cbnz x0, . + 8", EndKind.COND, NONE, 8),
        ("tbz w0, #3, . + 0x7ffc", EndKind.COND, NONE, 0x7FFC),
        ("tbnz x0, #63, . - 0x4000", EndKind.COND, NONE, -0x4000),
        ("br x3", EndKind.JUMP_INDIRECT, NONE, None),
        ("braa x3, sp", EndKind.JUMP_INDIRECT, NONE, None),
        ("brabz x3", EndKind.JUMP_INDIRECT, NONE, None),
        ("blr x3", EndKind.CALL_INDIRECT, NONE, None),
        ("blraa x3, x4", EndKind.CALL_INDIRECT, NONE, None),
        ("blraaz x3", EndKind.CALL_INDIRECT, NONE, None),
        ("ret", EndKind.RETURN, NONE, None),
        ("ret x5", EndKind.RETURN, NONE, None),
        ("retaa", EndKind.RETURN, NONE, None),
        ("retab", EndKind.RETURN, NONE, None),
        ("eret", EndKind.TRAP_RETURN, NONE, None),
        ("eretaa", EndKind.TRAP_RETURN, NONE, None),
        ("svc #0", EndKind.TRAP_CALL, NONE, None),
        ("hvc #1", EndKind.TRAP_CALL, NONE, None),
        ("smc #1", EndKind.TRAP_CALL, NONE, None),
        ("brk #1", EndKind.TRAP_CALL, NONE, None),
        ("hlt #0xf000", EndKind.TRAP_CALL, NONE, None),
        ("udf #0", EndKind.TRAP_CALL, NONE, None),
    ],
)
def test_a64(tmp_path: Path, text: str, kind: EndKind, flags: EndFlag, offset: int | None) -> None:
    assembler = Assembler(tmp_path, "aarch64-linux-gnu-", "-march=armv8.3-a")

    check("aarch64", assembler.block(text), kind, flags, offset)


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


MIXED = r"""
__attribute__((noinline, target("TARGET"))) int NAME_sum(const int *v, int n) {
    int s = 0; for (int i = 0; i < n; i++) s += v[i] * (i + 3); return s; }
__attribute__((noinline, target("TARGET"))) int NAME_pick(int n) {
    switch (n) { case 0: return 3; case 1: return NAME_sum(&n, 1); case 2: return n * 77;
    case 3: return 1234567; default: return n / 7; } }
__attribute__((noinline, target("TARGET"))) long long NAME_wide(long long a, int b) {
    return (a << b) + a * b; }
"""


def mixed_blocks(tmp_path: Path) -> tuple[list[Block], list[Mode], dict[int, str]]:
    """Blocks of a program of A32 and Thumb functions, by turns, and what each is by objdump."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    text = "".join(
        MIXED.replace("TARGET", ("arm", "thumb")[number % 2]).replace("NAME", f"f{number}")
        for number in range(12)
    )
    source, out = tmp_path / "mixed.c", tmp_path / "mixed.o"
    source.write_text(text)
    subprocess.run(
        ["arm-none-eabi-gcc", "-O2", "-march=armv7-a", "-c", "-o", out, source], check=True
    )
    symbols = subprocess.run(
        ["arm-none-eabi-nm", "--special-syms", "-n", out],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = {"a": "arm", "t": "thumb", "d": "data"}
    marks = [
        (int(found[1], 16), names[found[2]])
        for found in re.finditer(r"^(\w+) t \$([atd])", symbols, re.MULTILINE)
    ]
    blocks: list[Block] = []
    modes: list[Mode] = []
    said: dict[int, str] = {}
    sizes, code, start = b"", b"", 0
    for insn in listing("arm-none-eabi-objdump", out):
        if insn is None:
            sizes = code = b""
            continue
        mark = [name for address, name in marks if address <= insn.address][-1]
        if not sizes:
            start = insn.address
        said[insn.address] = mark
        sizes += bytes([len(insn.code)])
        code += insn.code
        if re.match(r"b|pop|ldm|cb|tb", insn.mnemonic) or len(sizes) == 4:
            blocks.append((start, sizes, code))
            modes.append(Mode.ARM if said[start] == "arm" else Mode.THUMB)
            sizes = code = b""
    return blocks, modes, said


def test_a32_and_thumb_are_told_apart_without_symbols(tmp_path: Path) -> None:
    blocks, modes, _ = mixed_blocks(tmp_path)

    result = classify("arm", table_of(blocks))

    assert [Mode(mode) for mode in result.mode[1:]] == modes
    assert set(modes) == {Mode.ARM, Mode.THUMB}
    assert result.undecided == 0
    assert not result.is_m_profile
    assert all(not flags & EndFlag.MAY_EXC_RETURN for flags in result.flags)


def test_mapping_symbols_decide_what_sizes_do_not() -> None:
    # Two words that are instructions both ways.
    block = (0x100, b"\4\4", bytes.fromhex("00f0a0e300f0a0e3"))
    blocks = table_of([block])

    for said, mode in (("arm", Mode.ARM), ("thumb", Mode.THUMB)):
        result = classify("arm", blocks, {block[0]: said}.get)
        assert result.mode[1] == mode


def test_table_that_grows_is_classified_further() -> None:
    pop_pc = (0x1000, b"\2", bytes.fromhex("10bd"))
    push_a32 = (0x2000, b"\4", bytes.fromhex("10402de9"))
    blocks = table_of([pop_pc])
    classifier = Classifier("arm")

    classifier.update(blocks)
    assert classifier.flags[1] == EndFlag.MAY_EXC_RETURN
    blocks.append(pack_block(*push_a32), "test")
    blocks.append(pack_block(0x3000, *pop_pc[1:]), "test")
    classifier.update(blocks)

    assert [Mode(mode) for mode in classifier.mode[1:]] == [Mode.THUMB, Mode.ARM, Mode.THUMB]
    assert list(classifier.flags[1:]) == [NONE, MEMORY, NONE]


def test_x86_modes_follow_their_neighbours(tmp_path: Path) -> None:
    codes = {
        Mode.X86_16: Assembler(tmp_path, "", "--32", ".code16\n").block(
            "mov $0x1234, %ax", ("-Mi8086",)
        ),
        Mode.X86_32: Assembler(tmp_path, "", "--32").block("mov $0x12345678, %eax; inc %eax"),
        Mode.X86_64: Assembler(tmp_path, "", "--64").block("mov %rsp, %rbp"),
    }
    either = (b"\1\2", bytes.fromhex("90eb00"))
    blocks: list[Block] = []
    for place, (_, sizes, code) in enumerate(codes.values()):
        blocks.append((0x10000 * (place + 1), sizes, code))
    blocks += [(0x10000 * (place + 1) + 0x80, *either) for place in range(3)]

    result = classify("x86_64", table_of(blocks))

    assert [Mode(mode) for mode in result.mode[1:]] == [*codes, *codes]
    assert result.undecided == 0


@pytest.mark.parametrize("base", [0x6FF2FF9, 0xFFFFFFFF80000FF9])
@pytest.mark.parametrize("piece", ["ba", "e8", "0f", "c7", "74"])
def test_piece_of_an_instruction_at_the_end_of_a_page_is_not_taken_for_one(
    base: int, piece: str
) -> None:
    # push $2; xor %ecx, %ecx; and what QEMU 7.2 shows of an instruction across two pages
    block = (base, b"\2\2\1", bytes.fromhex("6a0231c9" + piece))

    result = classify("x86_64", table_of([block]))

    assert EndKind(result.end_kind[1]) == EndKind.FALL
    assert EndFlag(result.flags[1]) == MEMORY
    assert result.target[1] == NO_TARGET
    assert result.mode[1] != Mode.UNDECIDED


def test_nothing_decides_is_counted() -> None:
    result = classify("x86_64", table_of([(0x100, b"\1", b"\x90"), (0x200, b"\7", b"\x90" * 7)]))

    assert result.undecided == 2
    assert result.mode[2] == Mode.UNDECIDED


def test_instruction_that_is_none_is_unknown() -> None:
    result = classify("aarch64", table_of([(0x100, b"\4", bytes.fromhex("ffffff07"))]))

    assert result.end_kind[1] == EndKind.UNKNOWN
    assert result.unknown == 1


def test_unknown_target_is_one_line() -> None:
    with pytest.raises(UsageError, match="target 'mips' is not known; known are arm, aarch64"):
        classify("mips", BlockTable())


@pytest.mark.parametrize(
    ("target", "mode", "code", "text"),
    [
        ("arm", Mode.THUMB, "00f002f8", "bl #0x1008"),
        ("arm", Mode.ARM, "1eff2fe1", "bx lr"),
        ("aarch64", Mode.UNDECIDED, "c0035fd6", "ret"),
        ("riscv64", Mode.RV64, "8280", "c.jr ra"),
        ("riscv32", Mode.UNDECIDED, "73000000", "ecall"),
        ("x86_64", Mode.X86_64, "4889e5", "mov rbp, rsp"),
        ("i386", Mode.X86_16, "cd10", "int 0x10"),
        ("aarch64", Mode.A64, "ffffff07", ".byte 0xff, 0xff, 0xff, 0x07"),
    ],
)
def test_disassembly(target: str, mode: Mode, code: str, text: str) -> None:
    assert disassemble(target, mode, 0x1000, bytes.fromhex(code)) == text


def test_conditional_instructions_of_a_block(tmp_path: Path) -> None:
    head = ".syntax unified\n"
    thumb = Assembler(tmp_path, "arm-none-eabi-", "-mcpu=cortex-m4", head + ".thumb\n")
    a32 = Assembler(tmp_path, "arm-none-eabi-", "-march=armv7-a", head + ".arm\n")

    _, sizes, code = thumb.block("nop; ite eq; moveq r0, r1; addne.w r0, r8, #1; nop")
    assert conditional_insns(Mode.THUMB, sizes, code) == {2, 3}
    _, sizes, code = a32.block("movne r0, r1; nop; addeq r0, r0, #1; b .")
    assert conditional_insns(Mode.ARM, sizes, code) == {0, 2}
