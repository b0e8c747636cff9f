# SPDX-License-Identifier: GPL-2.0-or-later
"""More than a call tree holds is cut at the limits, counted, and said; it takes no more memory."""

from __future__ import annotations

import json
import resource
import subprocess
from pathlib import Path

from gdbext.replay.calls import MAX_DEPTH, MAX_OPEN_CALLS, MAX_PATHS
from gdbext.target.boards import load_board
from gdbext.target.qemu_binary import find
from tests.support.books import Found, read_books
from tests.support.firmware import firmware_path
from tests.support.gdbext_cli import gdbext, gdbext_command
from tests.support.qemu_runs import icount, record

BOARD = "mps2-an385"
MEMORY = 1 << 30


def test_runaway_recursion_and_too_many_paths_are_cut_and_counted(tmp_path: Path) -> None:
    board = load_board(BOARD)
    elf = firmware_path("limits", BOARD)
    done = record(board, elf, find(board.qemu), tmp_path / "t", icount(board))
    books = read_books(done.text())
    assert sum(books.calls[name] for name in ("left", "right")) > MAX_PATHS
    assert books.calls["deep"] > MAX_OPEN_CALLS

    found = Found(done.directory, elf)

    in_tree = dict.fromkeys(books.calls, 0)
    at_top = 0
    for node in found.nodes[1:]:
        if found.name(node.function) in in_tree:
            in_tree[found.name(node.function)] += node.calls
        at_top += node.parent == 0
    assert MAX_PATHS <= len(found.nodes) <= MAX_PATHS + at_top
    booked = sum(books.calls.values())
    # A few calls of the functions that print came later, too.
    assert 0 <= sum(in_tree.values()) + found.tables.cut_calls - booked < 500
    assert all(n <= books.calls[name] for name, n in in_tree.items())
    assert found.stats.dropped_frames == found.stats.above_start > 0
    assert found.nodes[0].self_insns == 0
    assert found.nodes[0].inclusive_insns == found.program.tables.instructions
    for name, n in books.calls.items():  # call sites are not cut
        arrived = found.program.entries.arrivals[address_of(found, name)]
        assert sum(arrived.sites.values()) == n


def test_limits_are_said_with_the_count(tmp_path: Path) -> None:
    recording = tmp_path / "t.rec"
    elf = firmware_path("limits", BOARD)
    gdbext("record", elf, "--board", BOARD, "-o", recording, runtime=tmp_path)

    text = bounded("tree", recording, "--top", "5", "--no-inlined")
    answer = json.loads(bounded("profile", recording, "--top", "5", "--no-inlined", "--json"))

    cut = answer["repairs"]["cut_calls"]
    assert cut > MAX_PATHS
    assert f"cut calls: {cut:,}" in text
    assert f"deeper than {MAX_DEPTH:,}" in text
    assert f"beyond the first {MAX_PATHS:,}" in text
    assert f"more than {MAX_OPEN_CALLS:,} calls were open" in text
    limits = {"depth": MAX_DEPTH, "paths": MAX_PATHS, "open_calls": MAX_OPEN_CALLS}
    assert answer["limits"] == limits


def test_a_longer_run_on_the_same_paths_makes_no_larger_tree(tmp_path: Path) -> None:
    elf = firmware_path("bench", BOARD)
    sizes = []
    for n_insns in (5_000_000, 100_000_000):
        recording = tmp_path / f"{n_insns}.rec"
        words = ("--board", BOARD, "--insns", n_insns, "-o", recording)
        gdbext("record", elf, *words, runtime=tmp_path)
        found = Found(recording, elf)
        assert found.program.tables.instructions >= n_insns
        sizes.append((len(found.nodes), len(found.program.tables.edges)))

    assert sizes[0][0] == sizes[1][0] > 10
    assert sizes[1][1] <= 1.1 * sizes[0][1]


def address_of(found: Found, name: str) -> int:
    """Of a function."""
    (function,) = found.program.symbols.find(name)
    return function.address


def bounded(*words: str | Path) -> str:
    """What gdbext prints, with less memory than a row for each path would take."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    done = subprocess.run(
        gdbext_command(*words), capture_output=True, text=True, check=False, preexec_fn=limit
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
