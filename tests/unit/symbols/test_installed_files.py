# SPDX-License-Identifier: GPL-2.0-or-later
"""ELF files that Debian ships, and a program linked with Debian's newlib and libgcc."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from gdbext.errors import SymbolError
from gdbext.symbols import Symbols
from tests.unit.symbols.toolchain import (
    CORTEX_M,
    addr2line,
    instruction_addresses,
    need,
    nm_functions,
    run,
)

U_BOOT = Path("/usr/lib/u-boot")
NEWLIB_PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int compare(const void *a, const void *b) { return *(char *)a - *(char *)b; }
int main(void)
{
    char *text = malloc(40);
    sprintf(text, "%d %f %lld", rand(), 3.5, 77ll / rand());
    qsort(text, strlen(text), 1, compare);
    puts(text);
    free(text);
    return 0;
}
"""


@pytest.fixture(scope="module")
def newlib_elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("newlib")
    if not Path(run("arm-none-eabi-gcc", "-print-file-name=rdimon.specs").strip()).is_absolute():
        pytest.skip("libnewlib-arm-none-eabi is not installed")
    (folder / "main.c").write_text(NEWLIB_PROGRAM)
    run(
        "arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "--specs=rdimon.specs", "-g", "-O2",
        "-Wl,--gc-sections", folder / "main.c", "-o", folder / "newlib.elf",
    )  # fmt: skip
    return folder / "newlib.elf"


def test_functions_of_a_newlib_program_equal_readelfs(newlib_elf: Path) -> None:
    symbols = Symbols.open(newlib_elf, None)
    expected = nm_functions(CORTEX_M, newlib_elf)

    found = {f.address: f for f in symbols.functions}

    for address, (names, size) in expected.items():
        function = found[address]
        assert names <= {function.name, *function.aliases}
        assert function.size == size or (size == 0 and function.size > 0)


def test_lines_of_a_newlib_program_equal_addr2lines(newlib_elf: Path) -> None:
    need("llvm-addr2line")
    symbols = Symbols.open(newlib_elf, None)
    addresses = instruction_addresses(CORTEX_M, newlib_elf)
    gnu = addr2line(newlib_elf, addresses)

    differ = []
    for address, chain in zip(addresses, gnu, strict=True):
        where = symbols.line_at(address)
        place = f"{where.file}:{where.line}" if where else "??"
        frames = [f"{f.file}:{f.line}" for f in symbols.inlined_at(address)] or [place]
        if frames != [line for _, line in chain]:
            differ.append((address, place))

    # GNU addr2line 2.40 has no line at the starts of a few functions: LLVM's decides there.
    assert len(differ) < 10
    llvm = addr2line(newlib_elf, [a for a, _ in differ], "llvm-addr2line") if differ else []
    for (address, place), chain in zip(differ, llvm, strict=True):
        name, _, line = place.rpartition("/")
        assert chain[0][1].endswith(f"/{line}"), (hex(address), name)


@pytest.mark.parametrize(
    ("board", "machine", "bits"),
    [
        ("qemu_arm", "arm", 32),
        ("qemu_arm64", "aarch64", 64),
        ("qemu-riscv64", "riscv", 64),
        ("qemu-x86_64", "x86_64", 64),
    ],
)
def test_u_boot_without_symbols(board: str, machine: str, bits: int) -> None:
    path = U_BOOT / board / "uboot.elf"
    if not path.exists():
        pytest.skip("u-boot-qemu is not installed")
    symbols = Symbols.open(path, None)
    header = run("readelf", "-hlW", path)
    load = next(line.split() for line in header.splitlines() if line.split()[:1] == ["LOAD"])
    offset, address, size = (int(load[n], 16) for n in (1, 2, 4))
    content = path.read_bytes()

    assert (symbols.machine, symbols.bits, symbols.stripped) == (machine, bits, True)
    assert f"0x{symbols.entry:x}" in header
    assert symbols.line_at(symbols.entry) is None
    for place in random.Random(1).sample(range(size - 16), 200):
        expected = content[offset + place : offset + place + 16]
        assert symbols.bytes_at(address + place, 16) == expected
    symbols.add_found([symbols.entry])
    assert symbols.function_at(symbols.entry) is not None


def test_u_boot_of_another_machine_is_refused_by_name() -> None:
    path = U_BOOT / "maltael" / "uboot.elf"
    if not path.exists():
        pytest.skip("u-boot-qemu is not installed")

    with pytest.raises(SymbolError, match="machine EM_MIPS"):
        Symbols.open(path, None)


def test_split_off_debug_information_is_refused(newlib_elf: Path) -> None:
    debug = newlib_elf.with_suffix(".debug")
    run("arm-none-eabi-objcopy", "--only-keep-debug", newlib_elf, debug)

    with pytest.raises(SymbolError, match="without code"):
        Symbols.open(debug, None)


def test_library_with_many_cpp_names_equals_nm() -> None:
    library = next(Path("/usr/lib").glob("*/libasan.so.8.0.0"), None)
    if library is None:
        pytest.skip("libasan8 is not installed")
    symbols = Symbols.open(library, None)
    expected: dict[int, set[str]] = {}
    for line in run("nm", "-C", "--defined-only", library).splitlines():
        address, kind, name = line.split(" ", 2)
        if kind in "tTwWi" and int(address, 16):
            expected.setdefault(int(address, 16), set()).add(name)

    wrong = [
        (f.name, expected.get(f.address))
        for f in symbols.functions
        if f.origin == "symtab" and not {f.name, *f.aliases} & expected.get(f.address, set())
    ]

    assert len(symbols.functions) > 1000
    assert wrong == []


def test_entry_is_the_header_field(newlib_elf: Path) -> None:
    (entry,) = struct.unpack_from("<I", newlib_elf.read_bytes(), 24)

    assert Symbols.open(newlib_elf, None).entry == entry & ~1
