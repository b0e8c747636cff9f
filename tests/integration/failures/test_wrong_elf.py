# SPDX-License-Identifier: GPL-2.0-or-later
"""Symbols of another program are refused, and those that are missing are done without."""

from __future__ import annotations

import bisect
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.failures.programs import wanderer_elf
from tests.support.firmware import firmware_path
from tests.support.gdbext_cli import Done, gdbext

BOARD = ("--board", "mps2-an385")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `basic.rec`, a recording of `basic` (-O2) on the MPS2 AN385."""
    directory = tmp_path_factory.mktemp("elf")
    elf = firmware_path("basic", "mps2-an385", "O2")
    words = ["-o", directory / "basic.rec", "--", "-icount", "shift=5"]
    done = gdbext("record", elf, *BOARD, *words, runtime=directory)
    assert done.status == 0, done.err
    return directory


def analyze(directory: Path, recording: str, elf: Path | str, *words: str) -> Done:
    return gdbext("analyze", recording, "--elf", elf, *words, runtime=directory, cwd=directory)


def assert_refused(done: Done, *pieces: str) -> None:
    """One line, no numbers."""
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("gdbext: ")
    assert done.err.count("\n") == 1, done.err
    for piece in pieces:
        assert piece in done.err


@pytest.mark.parametrize(
    ("program", "board", "variant"),
    [
        ("basic", "mps2-an385", "O0"),
        ("basic", "microbit", "O2"),
        ("midblock", "mps2-an385", ""),
    ],
)
def test_other_build_is_refused(place: Path, program: str, board: str, variant: str) -> None:
    elf = firmware_path(program, board, variant)

    done = analyze(place, "basic.rec", elf)

    assert_refused(done, f"{elf}: not the program that was recorded: ", "give the ELF that ran")


def test_build_that_differs_in_one_constant_is_refused(tmp_path: Path) -> None:
    elf = wanderer_elf(tmp_path, 1000)
    output = tmp_path / "t.rec"
    assert gdbext("record", elf, *BOARD, "-o", output, runtime=tmp_path).status == 0

    done = analyze(tmp_path, "t.rec", wanderer_elf(tmp_path, 2000))

    assert_refused(done, "not the program that was recorded: 1 of ")


def test_program_at_other_addresses_is_refused(tmp_path: Path) -> None:
    elf = wanderer_elf(tmp_path, 1000)
    output = tmp_path / "t.rec"
    assert gdbext("record", elf, *BOARD, "-o", output, runtime=tmp_path).status == 0
    moved = tmp_path / "moved.elf"
    change = ["arm-none-eabi-objcopy", "--change-addresses", "0x40000", str(elf), str(moved)]
    subprocess.run(change, check=True, capture_output=True)

    done = analyze(tmp_path, "t.rec", moved)

    assert_refused(done, "not the program that was recorded: none of the ")


@pytest.mark.parametrize(
    ("board", "machine"), [("virt-rv32", "riscv"), ("virt-aarch64", "aarch64")]
)
def test_other_architecture_is_refused(place: Path, board: str, machine: str) -> None:
    elf = firmware_path("basic", board, "O2")

    done = analyze(place, "basic.rec", elf)

    assert_refused(done, f"{elf}: a program for {machine}, but the recording is of arm")


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (0, "empty file"),
        (3, "no ELF magic number"),
        (30, "ELF header: cut short, 30 bytes in the file"),
        (5000, "section headers: need bytes up to "),
    ],
)
def test_truncated_elf_is_refused(place: Path, size: int, message: str) -> None:
    whole = firmware_path("basic", "mps2-an385", "O2").read_bytes()
    (place / "cut.elf").write_bytes(whole[:size])

    assert_refused(analyze(place, "basic.rec", "cut.elf"), "cut.elf: ", message)


def test_file_that_is_no_elf_is_refused(place: Path) -> None:
    (place / "text.elf").write_text("int main(void) { return 0; }\n")

    done = analyze(place, "basic.rec", "text.elf")

    assert_refused(done, "text.elf: offset 0: no ELF magic number")
    assert_refused(analyze(place, "basic.rec", "none.elf"), "none.elf: No such file or directory")
    assert_refused(analyze(place, "basic.rec", place), f"{place}: Is a directory")


def test_program_that_is_gone_is_asked_for(tmp_path: Path) -> None:
    elf = tmp_path / "gone.elf"
    shutil.copy(firmware_path("basic", "mps2-an385", "O2"), elf)
    output = tmp_path / "t.rec"
    assert gdbext("record", elf, *BOARD, "-o", output, runtime=tmp_path).status == 0
    elf.unlink()

    done = gdbext("analyze", output, runtime=tmp_path)

    assert done.status in (1, 2)
    assert done.err == f"gdbext: {elf}: the recorded program is gone; give it with --elf ELF\n"


def functions_of(done: Done) -> list[dict[str, Any]]:
    assert done.status == 0, done.err
    found: list[dict[str, Any]] = json.loads(done.out)["functions"]
    return [function for function in found if function["executed"]]


def test_stripped_elf_gives_the_same_numbers_under_addresses(place: Path) -> None:
    elf = firmware_path("basic", "mps2-an385", "O2")
    stripped = place / "stripped.elf"
    subprocess.run(["arm-none-eabi-strip", "-o", stripped, elf], check=True)

    named = functions_of(analyze(place, "basic.rec", elf, "--json"))
    done = analyze(place, "basic.rec", stripped, "--json")
    found = functions_of(done)

    assert {function["name"] for function in found} == {
        f"sub_{function['address']:x}" for function in found
    }
    starts = sorted(function["address"] for function in found)
    truth = dict.fromkeys(starts, 0)
    for function in named:  # some are only jumped to: theirs belong to the one before
        index = bisect.bisect_right(starts, function["address"]) - 1
        assert index >= 0, function
        truth[starts[index]] += function["self_insns"]
    assert {f["address"]: f["self_insns"] for f in found} == truth
    assert {f["address"] for f in found} <= {f["address"] for f in named}
    assert any("SHA-256 differs" in note for note in json.loads(done.out)["notes"])
