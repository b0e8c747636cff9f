# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions against readelf's symbol table, and the rules for names, sizes and labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdbext.symbols import Symbols
from tests.unit.symbols.programs import INLINES, OTHER
from tests.unit.symbols.toolchain import (
    AARCH64,
    ALL,
    ARM,
    BIG_ENDIAN,
    CORTEX_M,
    RV32,
    X86_64,
    Toolchain,
    build,
    need,
    nm_functions,
    run,
)

CORTEX_M_ASSEMBLER = """
    .syntax unified
    .thumb
    .section .text
    .global plain
plain:
    movs r0, #1
inner:
    subs r0, #1
    bne inner
    bx lr
    .global second
    .thumb_func
second:
    nop
    bx lr
    .type sized, %function
    .global sized
sized:
    nop
middle:
    nop
    bx lr
    .size sized, . - sized
    .global table
table:
    .word 1, 2, 3
    .global after
after:
    bx lr
"""


@pytest.mark.parametrize("toolchain", ALL, ids=lambda t: t.name)
def test_functions_equal_those_of_readelf(tmp_path: Path, toolchain: Toolchain) -> None:
    elf = build(tmp_path, toolchain, {"main.c": INLINES, "other.c": OTHER}, "-O1")

    symbols = Symbols.open(elf, None)

    found = {f.address: ({f.name, *f.aliases}, f.size) for f in symbols.functions}
    assert found == nm_functions(toolchain, elf)
    assert list(found) == sorted(found)


def test_best_name_of_one_address_is_global_then_short_without_underscores(tmp_path: Path) -> None:
    elf = build(tmp_path, CORTEX_M, {"main.c": INLINES})

    (function,) = Symbols.open(elf, None).find("weakly")

    assert function.name == "shared"
    assert set(function.aliases) == {"aliased", "weakly"}


def test_thumb_bit_is_in_no_address(tmp_path: Path) -> None:
    symbols = Symbols.open(build(tmp_path, CORTEX_M, {"main.c": INLINES}), None)

    assert all(f.address % 2 == 0 and f.mode == "thumb" for f in symbols.functions)
    assert symbols.entry == symbols.find("main")[0].address


def test_assembler_without_types_and_sizes(tmp_path: Path) -> None:
    elf = build(
        tmp_path, CORTEX_M, {"start.s": CORTEX_M_ASSEMBLER, "main.c": "int main(void){return 0;}"}
    )
    symbols = Symbols.open(elf, None)
    sizes = {f.name: f.size for f in symbols.functions}

    assert sizes["plain"] == 8  # reaches over its inner label to `second`
    assert sizes["second"] == 4
    assert sizes["sized"] == 6
    assert "inner" not in sizes
    assert "middle" not in sizes
    assert "table" not in sizes
    plain = symbols.find("plain")[0]
    assert symbols.function_at(plain.address + 4) == plain


def test_a_called_label_becomes_a_function(tmp_path: Path) -> None:
    elf = build(
        tmp_path, CORTEX_M, {"start.s": CORTEX_M_ASSEMBLER, "main.c": "int main(void){return 0;}"}
    )
    symbols = Symbols.open(elf, None)
    plain = symbols.find("plain")[0]

    (new,) = symbols.add_found([plain.address + 2, plain.address])

    assert (new.name, new.address, new.size) == ("inner", plain.address + 2, 6)
    assert symbols.find("plain")[0].size == 2
    assert symbols.function_at(plain.address + 4) == new


def test_stripped_file_takes_functions_from_call_targets(tmp_path: Path) -> None:
    elf = build(tmp_path, CORTEX_M, {"main.c": INLINES}, "-O1")
    first, second, *_ = Symbols.open(elf, None).functions
    stripped = tmp_path / "stripped.elf"
    run("arm-none-eabi-strip", elf, "-o", stripped)

    symbols = Symbols.open(stripped, None)
    assert symbols.stripped
    assert not symbols.functions
    symbols.add_found([second.address, first.address, 0x12345678])

    assert [(f.name, f.origin) for f in symbols.functions] == [
        (f"sub_{first.address:x}", "found"),
        (f"sub_{second.address:x}", "found"),
    ]
    assert symbols.functions[0].end == second.address
    assert symbols.mode_at(first.address) == "thumb"
    assert symbols.line_at(first.address) is None


@pytest.mark.parametrize("toolchain", [CORTEX_M, X86_64, AARCH64], ids=lambda t: t.name)
def test_functions_come_from_debug_information_where_symbols_are_gone(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    elf = build(tmp_path, toolchain, {"main.c": INLINES, "other.c": OTHER}, "-O1")
    whole = {f.address: f for f in Symbols.open(elf, None).functions}
    partial = tmp_path / "partial.elf"
    run(f"{toolchain.prefix}strip", "--strip-all", "--keep-section=.debug*", elf, "-o", partial)
    if ".debug_info" not in run("readelf", "-SW", partial):
        run(f"{toolchain.prefix}objcopy", "-N", "local", "-N", "shared", elf, partial)

    found = {f.address: f for f in Symbols.open(partial, None).functions}

    assert {a: f.size for a, f in found.items()} == {a: f.size for a, f in whole.items()}
    assert "dwarf" in {f.origin for f in found.values()}
    assert {f.name for f in found.values()} >= {"local", "shared", "main"}


def test_static_functions_of_one_name_are_told_apart_by_file(tmp_path: Path) -> None:
    symbols = Symbols.open(
        build(tmp_path, CORTEX_M, {"main.c": INLINES, "other.c": OTHER}, "-O1"), None
    )

    assert len(symbols.find("local")) == 2
    (one,) = symbols.find("other.c:local")
    assert one.file is not None
    assert one.file.endswith("/other.c")
    assert one.line == 2
    assert symbols.find("missing.c:local") == []


def test_address_as_text_finds_the_function_around_it(tmp_path: Path) -> None:
    symbols = Symbols.open(build(tmp_path, RV32, {"main.c": INLINES}), None)
    main = symbols.find("main")[0]

    assert symbols.find(hex(main.address + 2)) == [main]
    assert symbols.find("0xzz") == []
    assert symbols.find("0x10") == []


def test_typing_errors_get_suggestions(tmp_path: Path) -> None:
    symbols = Symbols.open(build(tmp_path, CORTEX_M, {"main.c": INLINES}), None)

    assert symbols.suggest("mian") == ["main"]
    assert symbols.suggest("sharde")[0] == "shared"
    assert symbols.suggest("MAIN") == ["main"]
    assert symbols.suggest("zzzzzz") == []


def test_completion_lists_names_and_aliases(tmp_path: Path) -> None:
    symbols = Symbols.open(build(tmp_path, CORTEX_M, {"main.c": INLINES}), None)

    assert symbols.complete("sh") == ["shared"]
    assert symbols.complete("al") == ["aliased"]
    assert symbols.complete("nothing") == []
    assert "main" in symbols.complete("")


def test_completion_after_a_file_stays_in_the_file(tmp_path: Path) -> None:
    symbols = Symbols.open(
        build(tmp_path, CORTEX_M, {"main.c": INLINES, "other.c": OTHER}, "-O1"), None
    )

    assert symbols.complete("other.c:") == ["other.c:local", "other.c:other"]
    assert symbols.complete("other.c:ot") == ["other.c:other"]
    assert symbols.complete("other.c:main") == []


def test_mode_follows_mapping_symbols(tmp_path: Path) -> None:
    source = INLINES.replace(
        "int main", '__attribute__((target("thumb"))) int thumbs(int a) { return a * 77; } int main'
    )
    elf = build(tmp_path, ARM, {"main.c": source}, "-O1")
    symbols = Symbols.open(elf, None)
    thumbs = symbols.find("thumbs")[0]
    table = build(
        tmp_path, CORTEX_M, {"s.s": CORTEX_M_ASSEMBLER, "m.c": "int main(void){return 0;}"}
    )

    assert symbols.mode_at(symbols.find("main")[0].address) == "arm"
    assert symbols.mode_at(thumbs.address) == "thumb"
    assert thumbs.mode == "thumb"
    assert symbols.mode_at(0x10) is None
    cortex = Symbols.open(table, None)
    assert cortex.mode_at(cortex.find("sized")[0].end) == "data"
    assert cortex.mode_at(cortex.find("plain")[0].address) == "thumb"


@pytest.mark.parametrize("toolchain", [CORTEX_M, BIG_ENDIAN, AARCH64], ids=lambda t: t.name)
def test_bytes_equal_objcopys_image(tmp_path: Path, toolchain: Toolchain) -> None:
    elf = build(tmp_path, toolchain, {"main.c": INLINES})
    binary = tmp_path / "text.bin"
    run(f"{toolchain.prefix}objcopy", "-O", "binary", "-j", ".text", elf, binary)
    text = binary.read_bytes()

    symbols = Symbols.open(elf, None)

    assert symbols.bytes_at(0x8000, len(text)) == text
    assert symbols.bytes_at(0x8004, 6) == text[4:10]
    assert symbols.bytes_at(0xFFFF0000, 4) is None


def test_cpp_names_are_written_as_cxxfilt_writes_them(tmp_path: Path) -> None:
    need("clang")
    source = """
    namespace device { template <class T> struct Queue { T last; __attribute__((noinline))
      bool push(T const &value) { last = value; return true; } }; }
    namespace { __attribute__((noinline)) int hidden(int a) { return a + 1; } }
    extern "C" int plain(int a) { return hidden(a); }
    int main() { device::Queue<unsigned> q; q.push(3u); return hidden(1); }
    """
    elf = build(tmp_path, X86_64, {"main.cpp": source}, "-O0")
    symbols = Symbols.open(elf, None)
    raw = [f.raw_name for f in symbols.functions]

    assert [f.name for f in symbols.functions] == run("c++filt", text="\n".join(raw)).splitlines()
    (push,) = symbols.find("device::Queue<unsigned int>::push")
    assert push.name == "device::Queue<unsigned int>::push(unsigned int const&)"
    assert symbols.find("push") == [push]
    assert symbols.find(push.raw_name) == [push]
    assert symbols.find("main.cpp:hidden") == symbols.find("hidden")
    assert "device::Queue<unsigned int>::push" in symbols.complete("device::Q")


def test_rust_names_lose_their_hash(tmp_path: Path) -> None:
    source = tmp_path / "a.rs"
    source.write_text(
        "pub mod uart { #[inline(never)] pub fn send(x: u32) -> u32 { x * 3 } }\n"
        'fn main() { println!("{}", uart::send(std::env::args().count() as u32)) }\n'
    )
    for name, style in (("default", ()), ("v0", ("-Csymbol-mangling-version=v0",))):
        elf = tmp_path / name
        run("rustc", "-g", *style, source, "-o", elf)

        (send,) = Symbols.open(elf, None).find("uart::send")

        assert send.name == "a::uart::send"
        assert send.raw_name.startswith("_")
        assert send.line == 1
