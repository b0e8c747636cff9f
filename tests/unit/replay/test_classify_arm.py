# SPDX-License-Identifier: GPL-2.0-or-later
"""How single Arm instructions from the assembler end a block: Thumb, A32, A64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gdbext.replay.classify import EndFlag, EndKind
from tests.support.assembler import CONDITIONAL, EXC, MEMORY, NONE, WAIT, Assembler, check

if TYPE_CHECKING:
    from pathlib import Path


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
