# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks named by the symbols of their stacks, as the board's file configures it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gdbext.target.boards import load_board
from tests.support.firmware import firmware_path
from tests.support.gdbext_cli import gdbext
from tests.truth import binutils

NAMES = ("red", "green", "blue")
FUNCTIONS = ("task_a", "task_b", "task_c")


@pytest.mark.parametrize("board_name", ["mps2-an385", "virt-rv32"])
def test_stacks_in_one_array_name_their_tasks(board_name: str, tmp_path: Path) -> None:
    board = load_board(board_name)
    elf = firmware_path("tasks", board_name, "O2-shared")
    (stacks,) = (v for v in binutils.functions(elf, board.target, "bB") if v.name == "stacks")
    each = stacks.size_bytes // len(NAMES)
    keys = [
        f"  stacks+{n * each:#x}: {name}" if n else f"  stacks: {name}"
        for n, name in enumerate(NAMES)
    ]
    mine = tmp_path / f"{board_name}.yaml"
    mine.write_text(board.path.read_text() + "\n".join(["task_names:", *keys]) + "\n")
    recording = tmp_path / "t.rec"

    words = ("--board", mine, "-o", recording, "--", "-icount", board.icount)
    done = gdbext("record", elf, *words, runtime=tmp_path)
    answer = gdbext("tasks", recording, "--json", runtime=tmp_path)
    text = gdbext("tasks", recording, runtime=tmp_path)

    assert done.status == 0, done.err
    tasks = {task["name"]: task for task in json.loads(answer.out)["tasks"]}
    assert {name: tasks[name]["function"] for name in NAMES} == dict(
        zip(NAMES, FUNCTIONS, strict=True)
    )
    for n, name in enumerate(NAMES):
        assert tasks[name]["stack"] == "stacks"
        start = stacks.address + n * each
        assert start < tasks[name]["stack_pointer"] <= start + each
        assert f" {name} " in text.out
