# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines and inline chains of every instruction, against addr2line."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from gdbext.symbols import Symbols
from tests.unit.symbols.programs import INLINES, OTHER
from tests.unit.symbols.toolchain import (
    AARCH64,
    ALL,
    CLANG,
    CORTEX_M,
    RV64,
    X86_64,
    Toolchain,
    addr2line,
    build,
    instruction_addresses,
    run,
)

SOURCES = {"main.c": INLINES, "other.c": OTHER}


def _assert_same_as_addr2line(symbols: Symbols, toolchain: Toolchain, elf: Path) -> None:
    # GNU addr2line 2.40 misses inlined code in clang's DWARF 5.
    tool = "llvm-addr2line" if toolchain is CLANG else "addr2line"
    addresses = instruction_addresses(toolchain, elf)
    assert addresses
    for address, expected in zip(addresses, addr2line(elf, addresses, tool), strict=True):
        where = symbols.line_at(address)
        place = f"{where.file}:{where.line}" if where else "??"
        assert place == expected[0][1], hex(address)
        frames = symbols.inlined_at(address)
        if len(expected) == 1:
            assert frames == ()
        else:
            chain = [(f.function, f"{f.file}:{f.line}") for f in frames]
            assert chain == expected, hex(address)


@pytest.mark.parametrize("version", [2, 3, 4, 5])
@pytest.mark.parametrize("toolchain", ALL, ids=lambda t: t.name)
def test_every_instruction_has_the_line_of_addr2line(
    tmp_path: Path, toolchain: Toolchain, version: int
) -> None:
    elf = build(tmp_path, toolchain, SOURCES, "-O2", f"-gdwarf-{version}", "-ffunction-sections")

    _assert_same_as_addr2line(Symbols.open(elf, None), toolchain, elf)


@pytest.mark.parametrize("toolchain", [CORTEX_M, X86_64, RV64], ids=lambda t: t.name)
def test_dwarf_versions_may_mix_in_one_file(tmp_path: Path, toolchain: Toolchain) -> None:
    objects = []
    for version, (name, text) in zip((2, 5), SOURCES.items(), strict=True):
        source = tmp_path / name
        source.write_text(text)
        objects.append(tmp_path / f"{name}.o")
        flags = (*toolchain.flags, "-ffreestanding", "-O2", "-g", f"-gdwarf-{version}")
        run(toolchain.compiler, *flags, "-c", source, "-o", objects[-1])
    elf = tmp_path / "mixed.elf"
    run(
        toolchain.compiler, *toolchain.flags, "-nostdlib", "-static", "-Wl,-e,main",
        *objects, "-o", elf,
    )  # fmt: skip

    _assert_same_as_addr2line(Symbols.open(elf, None), toolchain, elf)


def test_compressed_debug_sections_are_read(tmp_path: Path) -> None:
    elf = build(tmp_path, CORTEX_M, SOURCES, "-O2", "-Wl,--compress-debug-sections=zlib")
    assert "C" in next(
        line for line in run("readelf", "-SW", elf).splitlines() if ".debug_line " in line
    )

    _assert_same_as_addr2line(Symbols.open(elf, None), CORTEX_M, elf)


def test_split_dwarf_is_said_and_lines_still_work(tmp_path: Path) -> None:
    elf = build(tmp_path, X86_64, SOURCES, "-O2", "-gsplit-dwarf")
    symbols = Symbols.open(elf, None)

    main = symbols.find("main")[0]

    assert main.line == 1 + INLINES.splitlines().index(
        "int main(void) { return shared(3) + shared(4); }"
    )
    assert any("split DWARF" in note and ".dwo" in note for note in symbols.notes)


def test_without_debug_information_there_is_no_line(tmp_path: Path) -> None:
    elf = build(tmp_path, CORTEX_M, {"main.c": INLINES}, "-g0")
    symbols = Symbols.open(elf, None)

    assert symbols.line_at(symbols.entry) is None
    assert symbols.inlined_at(symbols.entry) == ()
    assert symbols.functions[0].file is None
    assert symbols.rows_of(symbols.functions[0]) == []
    assert symbols.notes == ()


def test_rows_of_a_function_cover_it_once(tmp_path: Path) -> None:
    symbols = Symbols.open(build(tmp_path, CORTEX_M, SOURCES, "-O1"), None)
    local = symbols.find("main.c:local")[0]

    rows = symbols.rows_of(local)

    assert rows[0].start == local.address
    assert rows[-1].end == local.end
    assert all(a.end == b.start for a, b in itertools.pairwise(rows))
    for row in rows:
        where = symbols.line_at(row.start)
        assert (where.line if where else 0) == row.line


@pytest.mark.parametrize("toolchain", [CORTEX_M, AARCH64, RV64], ids=lambda t: t.name)
@pytest.mark.parametrize("version", [3, 5])
def test_discarded_functions_do_not_claim_address_zero(
    tmp_path: Path, toolchain: Toolchain, version: int
) -> None:
    unused = "\n".join(
        f"int unused_{i}(int a) {{ for (int j = 0; j < a; j++) a ^= j * {i + 3}; return a; }}"
        for i in range(8)
    )
    sources = {
        "aaa.c": unused,
        "main.c": INLINES.replace(
            "int main(void)", '__attribute__((section(".text.main")))\nint main(void)'
        ),
        "zzz.c": unused.replace("unused", "also_unused"),
    }
    elf = build(
        tmp_path, toolchain, sources, "-O2", "-ffunction-sections", f"-gdwarf-{version}",
        "-Wl,--gc-sections", base=0,
    )  # fmt: skip
    symbols = Symbols.open(elf, None)

    at_zero = symbols.function_at(0)
    assert at_zero is not None
    for address in range(0, max(f.end for f in symbols.functions), 2):
        function, where = symbols.function_at(address), symbols.line_at(address)
        if function is not None:
            assert where is not None
            assert where.file == str(tmp_path / "main.c")
    assert not [f for f in symbols.functions if "unused" in f.name]
    _assert_same_lines_where_addr2line_is_right(symbols, toolchain, elf, tmp_path / "main.c")


def _assert_same_lines_where_addr2line_is_right(
    symbols: Symbols, toolchain: Toolchain, elf: Path, source: Path
) -> None:
    """addr2line itself may fall for discarded functions: only its answers in `source` count."""
    addresses = instruction_addresses(toolchain, elf)
    compared = 0
    for address, chain in zip(addresses, addr2line(elf, addresses), strict=True):
        where = symbols.line_at(address)
        if chain[0][1].startswith(f"{source}:"):
            compared += 1
            assert where is not None
            assert f"{where.file}:{where.line}" == chain[0][1]
    assert compared


def test_vector_table_at_zero_has_no_line(tmp_path: Path) -> None:
    source = (
        INLINES
        + """
    int unused(int a) { return a * 3; }
    extern int _estack;
    __attribute__((section(".text.0vectors"), used)) void *const vectors[] = {&_estack, main, 0,
        shared};
    """
    )
    elf = build(
        tmp_path, CORTEX_M, {"main.c": source}, "-O2", "-ffunction-sections", "-Wl,--gc-sections",
        "-Wl,-u,vectors", "-Wl,--defsym=_estack=0x20001000", "-Wl,--sort-section=name", base=0,
    )  # fmt: skip
    symbols = Symbols.open(elf, None)
    table = int(
        next(
            line for line in run("arm-none-eabi-nm", elf).splitlines() if line.endswith("vectors")
        ).split()[0],
        16,
    )
    main, shared = symbols.find("main")[0], symbols.find("shared")[0]

    assert [(v.number, v.name, v.handler) for v in symbols.vector_table(table)] == [
        (1, "Reset", main.address),
        (3, "HardFault", shared.address),
    ]
    assert symbols.line_at(table) is None
    assert symbols.function_at(table) is None


@pytest.mark.parametrize("linker", ["bfd", "lld"])
def test_clang_with_discarded_functions(tmp_path: Path, linker: str) -> None:
    unused = "int unused(int a) { for (int j = 0; j < a; j++) a ^= j * 3; return a; }\n"
    elf = build(
        tmp_path, CLANG, {"aaa.c": unused, "main.c": INLINES}, "-O2", "-ffunction-sections",
        "-Wl,--gc-sections", *(("-Wl,-z,norelro", "-fuse-ld=lld") if linker == "lld" else ()),
        base=0x401000,
    )  # fmt: skip
    symbols = Symbols.open(elf, None)

    _assert_same_as_addr2line(symbols, CLANG, elf)
    assert symbols.line_at(0) is None


@pytest.mark.parametrize("typed", [False, True], ids=["labels", "typed"])
def test_assembler_at_zero_keeps_its_lines_against_discarded_assembler(
    tmp_path: Path, typed: bool
) -> None:
    def source(name: str, section: str, count: int) -> str:
        kind = f".type {name}, %function\n" if typed else ""
        size = f".size {name}, . - {name}\n" if typed else ""
        code = "    nop\n" * count
        return f'.section {section}, "ax"\n.global {name}\n{kind}{name}:\n{code}    ret\n{size}'

    sources = {
        "start.s": source("main", ".text", 9),
        "dead.s": source("dead", ".text.dead", 3),
        "next.c": "int next(int a) { return a * 3; }",
        "late.s": source("late", ".text.late", 40),
    }
    elf = build(tmp_path, AARCH64, sources, "-O1", "-Wl,--gc-sections", "-Wl,-u,next", base=0)
    symbols = Symbols.open(elf, None)
    main = symbols.find("main")[0]

    assert main.address == 0
    assert not symbols.find("dead")
    for address in range(0, 40, 4):
        where = symbols.line_at(address)
        assert where is not None
        assert (where.file, where.line) == (str(tmp_path / "start.s"), 4 + typed + address // 4)


def test_source_text_is_the_line_or_nothing(tmp_path: Path) -> None:
    symbols = Symbols.open(build(tmp_path, CORTEX_M, SOURCES), None)
    where = symbols.line_at(symbols.find("other")[0].address)
    assert where is not None

    assert (
        symbols.source_text(where.file, where.line) == "{"
    )  # line 4 of OTHER, where GCC begins `other`
    assert symbols.source_text(where.file, 0) is None
    assert symbols.source_text(where.file, 999) is None
    assert symbols.source_text("/nowhere/x.c", 1) is None


def test_zstd_compression_is_said(tmp_path: Path) -> None:
    elf = build(tmp_path, CORTEX_M, SOURCES, "-Wl,--compress-debug-sections=zlib")
    content = bytearray(elf.read_bytes())
    for line in run("readelf", "-SW", elf).splitlines():
        fields = line.replace("[ ", "[").split()
        if len(fields) > 7 and fields[1].startswith(".debug") and "C" in fields[7]:
            content[int(fields[4], 16)] = 2  # ch_type: ELFCOMPRESS_ZSTD
    elf.write_bytes(content)
    symbols = Symbols.open(elf, None)

    assert symbols.find("main")
    assert symbols.line_at(symbols.entry) is None
    (note,) = symbols.notes
    assert "zstd" in note
    assert "--decompress-debug-sections" in note
