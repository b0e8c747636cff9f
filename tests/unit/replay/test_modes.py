# SPDX-License-Identifier: GPL-2.0-or-later
"""Instruction sets told apart, and what is undecided."""

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
from tests.support.assembler import MEMORY, NONE, Assembler, Block, table_of
from tests.truth.listing import listing

if TYPE_CHECKING:
    from pathlib import Path

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
