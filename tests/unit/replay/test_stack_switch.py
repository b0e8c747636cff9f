# SPDX-License-Identifier: GPL-2.0-or-later
"""Which instructions load the stack pointer as a switch of stacks does, as objdump writes them."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from gdbext.replay.kinds import Mode
from gdbext.replay.stack_switch import loads_stack_pointer
from tests.truth.listing import listing

SWITCHES = {
    "thumb": "mov sp, r2; mov sp, lr; ldr.w sp, [r0]; ldr.w sp, [r0, #-4]; ldr.w sp, [r1, r2]; "
    "msr psp, r0; msr msp, r3",
    "arm": "mov sp, r0; moveq sp, r12; ldr sp, [r1]; ldr sp, [r0, #8]!; ldr sp, [r0, -r2]; "
    "ldm r0, {r4, sp, lr}; ldmdb r1!, {sp, pc}; ldmia r0, {r13, r14}^",
    "a64": "mov sp, x9; mov sp, x0; mov sp, x28; msr sp_el0, x3; msr sp_el1, x30",
    "rv32": "mv sp, a0; lw sp, 0(a1); c.mv sp, t6; c.lwsp sp, 8(sp); .option norvc; mv sp, t1; "
    "mv sp, ra; lw sp, 104(s0)",
    "rv64": "mv sp, a0; ld sp, 0(a1); c.ldsp sp, 16(sp); ld sp, 8(sp); lw sp, 4(a0)",
    "x86-64": "mov %rax, %rsp; mov %r9, %rsp; mov %r13, %rsp; mov (%rdi), %rsp; mov %eax, %esp; "
    "mov 8(%r12), %rsp; mov 0x1234(%rip), %rsp; pop %rsp; xchg %rax, %rsp; "
    ".byte 0x48, 0x8b, 0xe0; .byte 0x49, 0x8b, 0xe5",
    "x86-32": "mov %eax, %esp; mov 4(%edx), %esp; mov 0x100, %esp; pop %esp",
    "x86-16": "mov %ax, %sp; mov %eax, %esp; mov (%bx), %sp",
}
OTHERS = {
    "thumb": "mov sp, r7; mov sp, r11; add sp, r3; add sp, #8; sub sp, #16; mov r2, sp; "
    "mov r7, r8; ldr r0, [sp]; str.w sp, [r0]; ldr.w r4, [sp, #4]; ldr.w r12, [r0]; "
    "msr primask, r0; msr control, r0; mrs r0, psp; addw r3, sp, #8; "
    "ldr.w lr, [sp], #4; pop {r4, pc}",
    "arm": "mov sp, r11; mov sp, r7; add sp, sp, #8; sub sp, fp, #12; mov fp, sp; str sp, [r0]; "
    "ldr r12, [r0]; ldrb r13, [r0]; ldmdb fp, {r4, fp, sp, pc}; stm r0, {sp, lr}; "
    "ldm sp!, {r4, pc}; mov r0, sp",
    "a64": "mov sp, x29; mov x29, sp; add sp, sp, #16; add sp, x29, #16; sub sp, x29, #32; "
    "mov x9, sp; add x1, x2, #0; ldp x29, x30, [sp], #16; msr tpidr_el0, x0; mrs x0, sp_el0",
    "rv32": "addi sp, sp, -16; addi sp, s0, -32; mv sp, s0; mv a0, sp; lw ra, 4(sp); sw sp, 0(a0); "
    "li sp, 16; .option norvc; mv sp, s0; addi sp, a0, 16; lw gp, 0(a0); mv s0, sp",
    "rv64": "addi sp, sp, -16; c.mv sp, s0; ld ra, 8(sp); sd sp, 0(a0); c.ldsp ra, 16(sp)",
    "x86-64": "mov %rbp, %rsp; leave; lea -40(%rbp), %rsp; sub $8, %rsp; mov %rsp, %rax; "
    "mov %rax, %r12; mov (%rdi), %r12; pop %rbp; pop %r12; xchg %rax, %r12; and $-16, %rsp; "
    "mov $0x5c, %eax; mov %rsp, (%rdi); mov %ebp, %esp; .byte 0x48, 0x8b, 0xe5",
    "x86-32": "mov %ebp, %esp; leave; mov %esp, %eax; mov %esp, (%eax); add $12, %esp",
    "x86-16": "mov %bp, %sp; mov %sp, %ax",
}


@dataclass(frozen=True)
class Isa:
    """An instruction set, its tools, and how objdump writes what `SWITCHES` has."""

    mode: Mode
    prefix: str
    options: str
    head: str
    written: str
    """Pattern of mnemonic and operands."""
    objdump: tuple[str, ...] = ()
    flags: str = ""
    """Of the compiler, to find its libraries."""


_AT = r"mov[lqw]?\s+.*,%[re]?sp$|pop[lqw]?\s+%[re]?sp$|xchg\s+.*\b%[re]?sp\b"
ISAS = {
    "thumb": Isa(
        Mode.THUMB,
        "arm-none-eabi-",
        "-mcpu=cortex-m3",
        ".syntax unified\n.thumb\n",
        r"mov\s+sp, (?!r7|r11|fp)|ldr(\.w)?\s+sp,|msr\s+[MP]SP",
        flags="-mthumb -mcpu=cortex-m3",
    ),
    "arm": Isa(
        Mode.ARM,
        "arm-none-eabi-",
        "-march=armv5te",
        ".syntax unified\n.arm\n",
        r"mov\w*\s+sp, (?!r7|r11|fp)[rils]|ldr(?!b)\w*\s+sp,|"
        r"ldm\w*\s+(?!r7|r11|fp|sp)\w+!?, {.*\bsp\b",
        flags="-marm -march=armv5te",
    ),
    "a64": Isa(
        Mode.A64,
        "aarch64-linux-gnu-",
        "",
        "",
        r"mov\s+sp, (?!x29)|msr\s+sp_el",
        flags="",
    ),
    "rv32": Isa(
        Mode.RV32,
        "riscv64-unknown-elf-",
        "-march=rv32imac -mabi=ilp32",
        "",
        r"mv\s+sp,(?!s0)|lw\s+sp,",
        flags="-march=rv32imac -mabi=ilp32",
    ),
    "rv64": Isa(
        Mode.RV64,
        "riscv64-unknown-elf-",
        "-march=rv64imac -mabi=lp64",
        "",
        r"mv\s+sp,(?!s0)|l[dw]\s+sp,",
        flags="-march=rv64imac -mabi=lp64",
    ),
    "x86-64": Isa(Mode.X86_64, "", "--64", "", rf"(?!mov\s+%[er]bp)({_AT})"),
    "x86-32": Isa(Mode.X86_32, "", "--32", "", rf"(?!mov\s+%[er]bp)({_AT})"),
    "x86-16": Isa(Mode.X86_16, "", "--32", ".code16\n", rf"(?!mov\s+%bp)({_AT})", ("-Mi8086",)),
}


def tool(isa: Isa, name: str) -> str:
    """A tool for the instruction set."""
    for found in (f"{isa.prefix}{name}", name):
        if shutil.which(found) is not None and (found != "as" or not isa.prefix):
            return found
    pytest.skip(f"{isa.prefix}{name} is not installed")


def insns_of(isa: Isa, text: str, directory: Path) -> list[tuple[str, bytes]]:
    """(as objdump writes it, code) of each instruction."""
    source, out = directory / "a.s", directory / "a.o"
    source.write_text(isa.head + text.replace(";", "\n") + "\n")
    subprocess.run([tool(isa, "as"), *isa.options.split(), "-o", out, source], check=True)
    return written(isa, out)


def written(isa: Isa, path: Path) -> list[tuple[str, bytes]]:
    """The same for an object file or library."""
    return [
        (f"{insn.mnemonic} {insn.operands}", insn.code)
        for insn in listing(tool(isa, "objdump"), path, *isa.objdump)
        if insn is not None
    ]


@pytest.mark.parametrize("name", ISAS)
def test_each_load_of_the_stack_pointer_is_found_alone_and_between_others(
    name: str, tmp_path: Path
) -> None:
    isa = ISAS[name]
    others = [code for _, code in insns_of(isa, OTHERS[name], tmp_path)]
    insns = insns_of(isa, SWITCHES[name], tmp_path)

    assert len(insns) >= 3
    for text, code in insns:
        assert loads_stack_pointer(isa.mode, bytes([len(code)]), code), text
        around = [others[0], code, others[1]]
        sizes = bytes(map(len, around))
        assert loads_stack_pointer(isa.mode, sizes, b"".join(around)), text


@pytest.mark.parametrize("name", ISAS)
def test_epilogues_and_arithmetic_are_none(name: str, tmp_path: Path) -> None:
    isa = ISAS[name]
    insns = insns_of(isa, OTHERS[name], tmp_path)

    for text, code in insns:
        assert not loads_stack_pointer(isa.mode, bytes([len(code)]), code), text
    sizes = bytes(len(code) for _, code in insns)
    assert not loads_stack_pointer(isa.mode, sizes, b"".join(code for _, code in insns))


@pytest.mark.parametrize("library", ["libgcc.a", "libc.a"])
@pytest.mark.parametrize("name", [name for name in ISAS if name not in ("x86-32", "x86-16")])
def test_whole_libraries_as_objdump_writes_them(name: str, library: str) -> None:
    isa = ISAS[name]
    path = library_path(isa, library)
    pattern = re.compile(isa.written)

    insns = written(isa, path)
    wrong = [
        (text, code.hex())
        for text, code in insns
        if loads_stack_pointer(isa.mode, bytes([len(code)]), code)
        != bool(pattern.match(text.strip()))
    ]

    assert len(insns) > 1000
    assert wrong == []


def library_path(isa: Isa, library: str) -> Path:
    """A library that came with the compiler."""
    compiler = tool(isa, "gcc")
    found = subprocess.run(
        [compiler, *isa.flags.split(), f"-print-file-name={library}"],
        capture_output=True,
        text=True,
        check=False,
    )
    path = Path(found.stdout.strip())
    if not path.is_absolute() or not path.exists():
        pytest.skip(f"{compiler} {isa.flags} has no {library}")
    return path
