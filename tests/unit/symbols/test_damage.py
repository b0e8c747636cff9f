# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are no linked ELF file, or are damaged, end in one line that names file and part."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from gdbext.errors import SymbolError
from gdbext.symbols import Symbols
from tests.unit.symbols.programs import INLINES
from tests.unit.symbols.toolchain import CORTEX_M, X86_64, build, run


def _message(path: Path) -> str:
    with pytest.raises(SymbolError) as caught:
        Symbols.open(path, None)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text


def _ask_everything(path: Path) -> None:
    """Use every look-up; only SymbolError may come out."""
    try:
        symbols = Symbols.open(path, None)
    except SymbolError:
        return
    addresses = [*[f.address for f in symbols.functions][:50], 0, symbols.entry, 32768]
    symbols.add_found(addresses)
    for address in addresses:
        try:
            symbols.line_at(address)
            symbols.inlined_at(address)
            function = symbols.function_at(address)
            if function is not None:
                symbols.rows_of(function)
        except SymbolError:
            pass
        symbols.bytes_at(address, 16)
        symbols.mode_at(address)
        symbols.vector_table(address)
    symbols.suggest("mian")
    symbols.complete("m")


def test_missing_file(tmp_path: Path) -> None:
    assert "No such file" in _message(tmp_path / "none.elf")


def test_directory(tmp_path: Path) -> None:
    assert "directory" in _message(tmp_path)


def test_empty_and_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b"")
    assert "empty file" in _message(path)
    path.write_bytes(b":10000000")
    assert "ELF magic" in _message(path)


def test_relocatable_object_and_core_are_named(tmp_path: Path) -> None:
    build(tmp_path, CORTEX_M, {"main.c": INLINES})
    assert "relocatable object" in _message(tmp_path / "main.c.o")
    core = bytearray((tmp_path / "program.elf").read_bytes())
    core[16:18] = struct.pack("<H", 4)
    path = tmp_path / "core"
    path.write_bytes(core)
    assert "core dump" in _message(path)


@pytest.mark.parametrize(
    ("offset", "layout", "value", "expected"),
    [
        (4, "B", 7, "ELF header"),  # EI_CLASS
        (5, "B", 9, "ELF header"),  # EI_DATA
        (18, "<H", 8, "machine EM_MIPS"),  # e_machine
        (28, "<I", 0x7FFFFFFF, "program headers"),  # e_phoff
        (32, "<I", 0x7FFFFFF0, "section headers"),  # e_shoff
        (42, "<H", 3, "e_phentsize"),
        (46, "<H", 5, "e_shentsize"),
        (50, "<H", 0x500, "section names"),  # e_shstrndx
    ],
)
def test_broken_header_field_is_named(
    tmp_path: Path, offset: int, layout: str, value: int, expected: str
) -> None:
    elf = build(tmp_path, CORTEX_M, {"main.c": INLINES})
    content = bytearray(elf.read_bytes())
    struct.pack_into(layout, content, offset, value)
    elf.write_bytes(content)

    assert expected in _message(elf)


def test_segment_beyond_the_end_is_named(tmp_path: Path) -> None:
    elf = build(tmp_path, CORTEX_M, {"main.c": INLINES})
    content = bytearray(elf.read_bytes())
    headers, each = struct.unpack_from("<I", content, 28)[0], 32
    count = struct.unpack_from("<H", content, 44)[0]
    number = next(
        n for n in range(count) if struct.unpack_from("<I", content, headers + each * n)[0] == 1
    )
    struct.pack_into("<I", content, headers + each * number + 16, 0x1000000)  # p_filesz
    elf.write_bytes(content)

    message = _message(elf)

    assert f"program header {number}" in message
    assert "the file ends at" in message


def test_broken_debug_information_leaves_the_functions(tmp_path: Path) -> None:
    elf = build(tmp_path, CORTEX_M, {"main.c": INLINES})
    content = elf.read_bytes()
    junk = tmp_path / "junk"
    junk.write_bytes(b"\xfe" * 64)
    run("arm-none-eabi-objcopy", "--update-section", f".debug_info={junk}", elf)
    assert elf.read_bytes() != content

    symbols = Symbols.open(elf, None)

    assert symbols.find("main")
    with pytest.raises(SymbolError, match=r"\.debug_info: damaged"):
        symbols.line_at(symbols.entry)
    (note,) = symbols.notes
    assert note.startswith(f"{elf}: .debug_info: damaged")

    run("arm-none-eabi-objcopy", "--strip-symbol=main", elf)
    symbols = Symbols.open(elf, None)

    assert symbols.find("shared")
    assert symbols.notes[0].startswith(f"{elf}: .debug_info: damaged")


@pytest.mark.parametrize("toolchain", [CORTEX_M, X86_64], ids=lambda t: t.name)
def test_every_truncation_gives_a_result_or_one_line(tmp_path: Path, toolchain: object) -> None:
    assert toolchain in (CORTEX_M, X86_64)
    chosen = CORTEX_M if toolchain is CORTEX_M else X86_64
    content = build(tmp_path, chosen, {"main.c": INLINES}, "-O1").read_bytes()
    path = tmp_path / "cut.elf"

    for size in [*range(160), *range(160, len(content), len(content) // 60)]:
        path.write_bytes(content[:size])
        _ask_everything(path)


@pytest.mark.parametrize("version", [2, 5])
def test_random_byte_changes_give_a_result_or_one_line(tmp_path: Path, version: int) -> None:
    content = build(
        tmp_path, CORTEX_M, {"main.c": INLINES}, "-O1", f"-gdwarf-{version}"
    ).read_bytes()
    path = tmp_path / "changed.elf"
    chance = random.Random(version)

    for _ in range(150):
        changed = bytearray(content)
        for _ in range(chance.choice((1, 1, 2, 8))):
            region = chance.choice((64, len(content), len(content)))
            changed[chance.randrange(region)] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, 0x24))
        path.write_bytes(changed)
        _ask_everything(path)
