# SPDX-License-Identifier: GPL-2.0-or-later
"""Every instruction of compiled programs and libraries, classified as objdump's mnemonics say."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gdbext.recording.blocks import BlockTable, pack_block
from gdbext.replay.classify import NO_TARGET, EndFlag, EndKind, Mode, classify
from tests.truth.listing import (
    Listed,
    Said,
    a64_says,
    arm_says,
    listing,
    riscv_says,
    x86_says,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_INSNS = 30_000
MAX_BLOCK = 40

PROGRAM = r"""
typedef int (*operation)(int, int);
extern int outside(int), another(int, int);
static volatile int sink;
static int add(int a, int b) { return a + b; }
static int sub(int a, int b) { return a - b; }
__attribute__((noinline)) int pick(int n) {
    switch (n) {
    case 0: return 7; case 1: return outside(3); case 2: return 19; case 3: return another(n, 2);
    case 4: return 23; case 5: sink = 4; return 1; case 6: return outside(9); case 7: return 2;
    default: return outside(n); }
}
__attribute__((noinline)) int fold(operation f, const int *v, int n) {
    int r = 0;
    for (int i = 0; i < n; i++) r = f(r, v[i]);
    return r;
}
__attribute__((noinline)) double mean(const double *v, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += v[i] > 0 ? v[i] : -v[i];
    return n ? s / n : 0;
}
__attribute__((noinline)) long long wide(long long a, long long b) {
    return b ? a / b + a % b : (a << 3) * b; }
__attribute__((noinline)) int tail(operation f, int n) { return f(n, n + 1); }
__attribute__((noinline)) int deep(int n) { return n < 2 ? n : deep(n - 1) + deep(n - 2); }
__attribute__((noinline)) int leaf(int a) { if (a > 3) return a; if (a == 2) return 9; return -a; }
int outside(int n) { return deep(n & 7) + leaf(n); }
int another(int a, int b) { return pick(a - 1) * b; }
void *memcpy(void *to, const void *from, unsigned long n) {
    char *t = to; const char *f = from;
    while (n--) *t++ = *f++;
    return to;
}
int main(void) {
    int v[] = {1, 2, 3}; double d[] = {1, 2};
    return fold(add, v, 3) + fold(sub, v, 3) + pick(sink) + (int)mean(d, 2) + (int)wide(sink, 3)
        + tail(sink ? add : sub, 2);
}
"""


@dataclass(frozen=True)
class Case:
    """A way to get code of one instruction set, and who says what is in it."""

    name: str
    target: str
    mode: Mode
    prefix: str
    flags: str
    says: Callable[[Listed], Said]
    objdump_options: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ("libgcc.a",)

    @property
    def compiler(self) -> str:
        return f"{self.prefix}gcc"

    @property
    def objdump(self) -> str:
        own = f"{self.prefix}objdump"
        return own if shutil.which(own) else "objdump"


CASES = [
    Case("v6m", "arm", Mode.THUMB, "arm-none-eabi-", "-mthumb -mcpu=cortex-m0", arm_says),
    Case(
        "v7m",
        "arm",
        Mode.THUMB,
        "arm-none-eabi-",
        "-mthumb -mcpu=cortex-m3",
        arm_says,
        libraries=("libgcc.a", "libc.a", "libm.a"),
    ),
    Case("v8m", "arm", Mode.THUMB, "arm-none-eabi-", "-mthumb -mcpu=cortex-m33", arm_says),
    Case(
        "v7a-thumb",
        "arm",
        Mode.THUMB,
        "arm-none-eabi-",
        "-mthumb -march=armv7-a+simd -mfloat-abi=hard",
        arm_says,
        libraries=("libgcc.a", "libm.a"),
    ),
    Case(
        "arm",
        "arm",
        Mode.ARM,
        "arm-none-eabi-",
        "-marm -march=armv5te",
        arm_says,
        libraries=("libgcc.a", "libc.a"),
    ),
    Case("armv4", "arm", Mode.ARM, "arm-none-eabi-", "-marm -march=armv4t", arm_says),
    Case(
        "aarch64",
        "aarch64",
        Mode.A64,
        "aarch64-linux-gnu-",
        "",
        a64_says,
        libraries=("libgcc.a", "libc.a"),
    ),
    Case(
        "aarch64-pauth",
        "aarch64",
        Mode.A64,
        "aarch64-linux-gnu-",
        "-march=armv8.3-a -mbranch-protection=standard",
        a64_says,
    ),
    Case(
        "rv32imac",
        "riscv32",
        Mode.RV32,
        "riscv64-unknown-elf-",
        "-march=rv32imac -mabi=ilp32",
        riscv_says,
        libraries=("libgcc.a", "picolibc"),
    ),
    Case(
        "rv32-save-restore",
        "riscv32",
        Mode.RV32,
        "riscv64-unknown-elf-",
        "-march=rv32imac -mabi=ilp32 -msave-restore",
        riscv_says,
    ),
    Case(
        "rv64imafdc",
        "riscv64",
        Mode.RV64,
        "riscv64-unknown-elf-",
        "-march=rv64imafdc -mabi=lp64d -mcmodel=medany",
        riscv_says,
        libraries=("libgcc.a", "picolibc"),
    ),
    Case("x86-64", "x86_64", Mode.X86_64, "", "-fno-pie", x86_says, (), ("libgcc.a", "libc.a")),
    Case("x86-32", "i386", Mode.X86_32, "", "-m32 -fno-pie", x86_says, libraries=()),
    Case("x86-16", "i386", Mode.X86_16, "", "-m16 -fno-pie", x86_says, ("-Mi8086",), ()),
]


def compiled(case: Case, tmp_path: Path, *, linked: bool, optimise: str) -> Path:
    """The program, or its object file."""
    if shutil.which(case.compiler) is None:
        pytest.skip(f"{case.compiler} is not installed")
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    out = tmp_path / ("program.elf" if linked else "program.o")
    command = [case.compiler, *case.flags.split(), optimise, "-ffreestanding"]
    command += ["-fno-stack-protector", "-o", str(out), str(source)]
    if linked:
        command += ["-nostdlib", "-static", "-Wl,-e,main", "-Wl,--build-id=none", "-lgcc"]
    else:
        command.append("-c")
    subprocess.run(command, check=True, capture_output=True, text=True)
    return out


def library(case: Case, name: str) -> Path:
    """A library that came with the compiler."""
    if shutil.which(case.compiler) is None:
        pytest.skip(f"{case.compiler} is not installed")
    flags = case.flags.split()
    if name == "picolibc":
        return _picolibc(case)
    found = subprocess.run(
        [case.compiler, *flags, f"-print-file-name={name}"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    path = Path(found)
    if not path.is_absolute() or not path.exists():
        pytest.skip(f"{case.compiler} {case.flags} has no {name}")
    return path


def _picolibc(case: Case) -> Path:
    """The libc.a that a link with picolibc.specs would take."""
    trace = subprocess.run(
        [
            case.compiler,
            *case.flags.split(),
            "--specs=picolibc.specs",
            "-print-search-dirs",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    multi_directory = subprocess.run(
        [case.compiler, *case.flags.split(), "-print-multi-directory"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    path = Path("/usr/lib/picolibc/riscv64-unknown-elf/lib") / multi_directory / "libc.a"
    if trace.returncode or not path.exists():
        pytest.skip("picolibc for this architecture is not installed")
    return path


def blocks_in(
    insns: list[Listed | None], says: Callable[[Listed], Said]
) -> tuple[BlockTable, list[tuple[Listed, Listed | None]]]:
    """A block that ends at each instruction and begins after the branch before it."""
    entries = []
    lasts: list[tuple[Listed, Listed | None]] = []
    run: list[Listed] = []
    for insn in insns:
        if insn is None or (run and run[-1].address + len(run[-1].code) != insn.address):
            run = []
        if insn is None:
            continue
        run.append(insn)
        entries.append(
            pack_block(
                run[0].address,
                bytes(len(one.code) for one in run),
                b"".join(one.code for one in run),
            )
        )
        lasts.append((insn, run[-2] if len(run) > 1 else None))
        # Not inside an IT block: its instructions carry no branch but at the end.
        if says(insn).kind != "FALL" or (len(run) >= MAX_BLOCK and insn.mnemonic == "nop"):
            run = []
    table = BlockTable()
    table.append(b"".join(entries), "test")
    return table, lasts


def resolved(case: Case, said: Said, insn: Listed, before: Listed | None) -> Said:
    """What two instructions together do."""
    if before is None:
        return said
    calls = case.mode == Mode.ARM and (before.mnemonic, before.operands) == ("mov", "lr, pc")
    if calls and said.kind == "JUMP_INDIRECT":
        return Said("CALL_INDIRECT", said.conditional)
    if case.says is riscv_says and before.mnemonic in ("auipc", "lui"):
        source = before.operands.split(",")[0]
        if source in insn.operands and insn.mnemonic.removeprefix("c.") in ("jr", "jalr", "ret"):
            names = {"CALL_INDIRECT": "CALL", "JUMP_INDIRECT": "JUMP", "RETURN": "JUMP"}
            return Said(names[said.kind])
    return said


def compare(case: Case, path: Path, *, targets: bool) -> int:
    """Compare all instructions; the number compared."""
    insns = list(listing(case.objdump, path, *case.objdump_options))[:MAX_INSNS]
    if case.mode == Mode.ARM:  # without the Thumb entries of some functions
        insns = [insn if insn is None or len(insn.code) == 4 else None for insn in insns]
    table, lasts = blocks_in(insns, case.says)
    m_profile = case.target == "arm" and "-m" in case.flags and "cortex-m" in case.flags
    mode = {Mode.ARM: "arm", Mode.THUMB: "thumb"}.get(case.mode)
    result = classify(case.target, table, mode_at=lambda _: mode, m_profile=m_profile)
    wrong = []
    for number, (insn, before) in enumerate(lasts, 1):
        said = resolved(case, case.says(insn), insn, before)
        kind = EndKind(result.end_kind[number])
        flags = EndFlag(result.flags[number])
        where = f"{insn.address:#x} {insn.code.hex()} {insn.mnemonic} {insn.operands}"
        if kind == EndKind.UNKNOWN and said.kind == "FALL":
            continue  # objdump knows more instructions; counted below
        if kind.name != said.kind:
            wrong.append(f"{where}: {kind.name}, not {said.kind}")
        if said.kind != "COND" and bool(flags & EndFlag.CONDITIONAL) != said.conditional:
            wrong.append(f"{where}: {flags!r}, conditional is {said.conditional}")
        direct = kind in (EndKind.JUMP, EndKind.COND, EndKind.CALL)
        if direct != (result.target[number] != NO_TARGET):
            wrong.append(f"{where}: target {result.target[number]:#x}")
        if targets and direct and said == case.says(insn) and result.target[number] != insn.target:
            wrong.append(f"{where}: target {result.target[number]:#x}, not {insn.target}")
    assert wrong == [], "\n".join([f"{len(wrong)} wrong", *wrong[:20]])
    assert result.unknown <= len(lasts) / 200
    if case.mode != Mode.X86_16:
        decided = [mode for mode in result.mode[1:] if mode != case.mode]
        assert len(decided) <= len(lasts) / 200
    return len(lasts)


@pytest.mark.parametrize("optimise", ["-O0", "-O2", "-Os"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_object_file_of_a_small_program(case: Case, tmp_path: Path, optimise: str) -> None:
    assert compare(case, compiled(case, tmp_path, linked=False, optimise=optimise), targets=False)


LINKABLE = [case for case in CASES if "libgcc.a" in case.libraries]


@pytest.mark.parametrize("optimise", ["-O0", "-O2"])
@pytest.mark.parametrize("case", LINKABLE, ids=lambda case: case.name)
def test_linked_program_with_branch_targets(case: Case, tmp_path: Path, optimise: str) -> None:
    assert compare(case, compiled(case, tmp_path, linked=True, optimise=optimise), targets=True)


@pytest.mark.parametrize(
    ("case", "name"),
    [(case, name) for case in CASES for name in case.libraries],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_libraries_of_the_toolchain(case: Case, name: str) -> None:
    assert compare(case, library(case, name), targets=False) > 1000
