# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache gives the same answers, does without DWARF, and survives damage."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gdbext.symbols import Symbols, cache, debugstore, index
from tests.unit.symbols.programs import INLINES, OTHER
from tests.unit.symbols.toolchain import CORTEX_M, build


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    return build(
        tmp_path,
        CORTEX_M,
        {"main.c": INLINES, "other.c": OTHER},
        "-O2",
        "-Wl,--build-id",
        "-Wl,--section-start=.note.gnu.build-id=0x4000",
    )


def _answers(symbols: Symbols) -> list[Any]:
    answers: list[Any] = [
        symbols.build_id, symbols.sha256, symbols.machine, symbols.bits, symbols.little_endian,
        symbols.entry, symbols.m_profile, symbols.stripped, list(symbols.functions), symbols.notes,
    ]  # fmt: skip
    for function in symbols.functions:
        answers.append((function.file, function.line, symbols.rows_of(function)))
        for address in range(function.address, function.end, 2):
            answers.append((symbols.line_at(address), symbols.inlined_at(address)))
            answers.append((symbols.mode_at(address), symbols.bytes_at(address, 2)))
    return answers


def _no_reading(*_arguments: object) -> None:
    raise AssertionError("the ELF file was read although the cache has it all")


def test_answers_from_the_cache_are_those_of_the_file(
    elf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "cache"
    plain = _answers(Symbols.open(elf, None))
    assert _answers(Symbols.open(elf, store)) == plain

    monkeypatch.setattr(index, "open_elf", _no_reading)
    monkeypatch.setattr(debugstore, "open_elf", _no_reading)

    assert _answers(Symbols.open(elf, store)) == plain


def test_damaged_parts_are_read_again_and_replaced(elf: Path, tmp_path: Path) -> None:
    store = tmp_path / "cache"
    plain = _answers(Symbols.open(elf, store))
    parts = sorted(p for p in store.rglob("*") if p.is_file())
    assert {p.name.split("-")[0] for p in parts} == {"index", "units", "lines", "code"}

    for part in parts:
        good = part.read_bytes()
        for bad in (b"", good[:-1], good.replace(b"1", b"2"), good[::-1], b"\n", b"\xff" * 9):
            part.write_bytes(bad)
            assert _answers(Symbols.open(elf, store)) == plain
            assert part.read_bytes() == good


def test_another_version_is_not_read(
    elf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "cache"
    Symbols.open(elf, store)
    (part,) = store.rglob("index")

    monkeypatch.setattr(cache, "VERSION", cache.VERSION + 1)

    assert cache.Cache(store, part.parent.name).load("index") is None


def test_a_changed_file_has_its_own_entry(elf: Path, tmp_path: Path) -> None:
    store = tmp_path / "cache"
    before = Symbols.open(elf, store)
    elf.write_bytes(elf.read_bytes() + b"\0")

    after = Symbols.open(elf, store)

    assert after.sha256 != before.sha256
    assert after.build_id == before.build_id
    assert sorted(p.name for p in store.iterdir()) == sorted([before.sha256, after.sha256])


def test_a_moved_file_is_reported_at_its_new_place(elf: Path, tmp_path: Path) -> None:
    store = tmp_path / "cache"
    Symbols.open(elf, store)
    moved = elf.rename(tmp_path / "moved.elf")

    assert Symbols.open(moved, store).path == moved


def test_cache_that_cannot_be_written_does_no_harm(elf: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")

    symbols = Symbols.open(elf, blocked / "cache")

    assert symbols.find("main")[0].line is not None


def test_default_place_follows_xdg_cache_home(
    elf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))

    symbols = Symbols.open(elf)

    assert (tmp_path / "xdg/gdbext/symbols" / symbols.sha256 / "index").is_file()
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.default_directory() == tmp_path / ".cache/gdbext/symbols"


def test_no_temporary_file_stays(elf: Path, tmp_path: Path) -> None:
    store = tmp_path / "cache"
    _answers(Symbols.open(elf, store))

    assert not [p for p in store.rglob(".*") if p.is_file()]


def test_longest_unused_files_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_KEPT", 2)
    for number in range(4):
        cache.Cache(tmp_path, f"elf{number}").store("index", number)
        if (tmp_path / f"elf{number}").exists():
            os.utime(tmp_path / f"elf{number}", (number, number))

    assert sorted(p.name for p in tmp_path.iterdir()) == ["elf2", "elf3"]
