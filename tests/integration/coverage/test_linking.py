# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage of what linkers do: folded functions, code in RAM, the whole program optimised at once.

Counts of instructions and states of lines are compared with other tools' in test_truth.py.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from tests.support.firmware import FIRMWARE_DIRECTORY, counters, firmware_path
from tests.support.gdbext_cli import gdbext
from tests.truth.binutils import functions

BOARDS = {"O2": "mps2-an385", "lto": "mps2-an385", "icf": "q35-x86_64"}


@cache
def measured(variant: str) -> tuple[dict[str, Any], int, Path]:
    """Coverage of the program's own files, rounds as it counted them, and its ELF file."""
    elf = firmware_path("linking", BOARDS[variant], variant)
    recording = Path(mkdtemp()) / "t.rec"
    ran = gdbext(
        "record", elf, "--board", BOARDS[variant], "-o", recording, runtime=recording.parent
    )
    assert recording.is_file(), ran.err
    words = ["--include", "linking/*", "--json"]
    asked = gdbext("coverage", recording, *words, runtime=recording.parent)
    assert asked.status == 0, asked.err
    return json.loads(asked.out), counters(ran.out)["iterations"], elf


def count_at(answer: dict[str, Any], file: str, text: str, after: str = "") -> int | None:
    """Count of the first line with this text, after a line with the other."""
    source = (FIRMWARE_DIRECTORY / "linking" / file).read_text().splitlines()
    first = next(n for n, line in enumerate(source) if after in line)
    wanted = next(n for n, line in enumerate(source) if n >= first and text in line) + 1
    lines = next(f["lines"] for f in answer["files"] if f["path"].endswith(f"/{file}"))
    count: int | None = next(line["count"] for line in lines if line["line"] == wanted)
    return count


def test_lines_of_functions_that_were_made_one_all_count_and_that_is_said() -> None:
    answer, rounds, elf = measured("icf")
    twins = {f.address for f in functions(elf, "x86_64") if f.name.startswith("twin_")}
    assert len(twins) == 1

    calls = 2 * rounds  # twin_first and twin_third, but never twin_second
    text = "return value ^ (value >> 3);"
    assert count_at(answer, "twins.c", text) == calls
    assert count_at(answer, "twins.c", text, after="twin_second(") == calls
    assert count_at(answer, "places.c", text) == calls
    shown = [f for file in answer["files"] for f in file["functions"] if f["address"] in twins]
    assert [f["count"] for f in shown] == [calls]
    (note,) = (note for note in answer["notes"] if "that the linker made one of" in note)
    assert int(note.split()[0]) > 0


def test_functions_that_stay_apart_are_told_apart() -> None:
    answer, rounds, _ = measured("O2")

    text = "if (value & 1) {"
    assert count_at(answer, "twins.c", text) == rounds
    assert count_at(answer, "twins.c", text, after="twin_second(") == 0
    assert not answer["notes"]


def test_code_in_ram_is_covered_where_it_runs() -> None:
    answer, rounds, elf = measured("O2")
    places = {f.name: f.address for f in functions(elf, "arm")}
    assert places["from_ram"] >= 0x20000000

    found = {f["address"]: f for file in answer["files"] for f in file["functions"]}
    assert found[places["from_ram"]]["count"] == rounds
    assert found[places["never_from_ram"]]["covered"] is False
    assert count_at(answer, "places.c", "value = value * 5 + i;") == 3 * rounds
    assert count_at(answer, "places.c", "}", after="never_from_ram(") == 0


def test_function_inlined_from_another_file_counts_in_its_own() -> None:
    answer, rounds, elf = measured("lto")
    assert "across" not in {f.name for f in functions(elf, "arm")}

    assert count_at(answer, "places.c", "if (value & 0x80)") == rounds
    copies = sum(
        count_at(answer, "places.c", text) or 0
        for text in ("return value - 3;", "return value + 5;")
    )
    assert copies in (0, rounds)  # one way each, where they are no conditional instructions
