# SPDX-License-Identifier: GPL-2.0-or-later
"""Inlined functions as nodes of their own, against addr2line and the tree without them."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from gdbext.analyses.program import Program
from gdbext.analyses.refs import numbered
from gdbext.analyses.workspace import Workspace
from gdbext.replay.calls import NodeKind
from gdbext.target.boards import load_board
from tests.integration.engine.runs import FindQemu
from tests.support.firmware import firmware_path
from tests.support.qemu_runs import icount, record
from tests.unit.symbols.toolchain import addr2line

PROGRAMS = [
    ("calls", "mps2-an385", "O2"),
    ("traps", "virt-rv32", "O2"),
    ("tasks", "virt-aarch64", "O2"),
]


@pytest.fixture(params=PROGRAMS, ids=lambda words: "-".join(words))
def workspace(request: pytest.FixtureRequest, find_qemu: FindQemu, tmp_path: Path) -> Workspace:
    program, board_name, variant = request.param
    board = load_board(board_name)
    elf = firmware_path(program, board_name, variant)
    record(board, elf, find_qemu(board.qemu), tmp_path / "live", icount(board))
    workspace = Workspace(tmp_path / "live", elf)
    workspace.refresh()
    return workspace


def test_instructions_of_inlined_functions_are_those_that_addr2line_gives_them(
    workspace: Workspace,
) -> None:
    counts = workspace.program.counts.program
    chains = chains_of(workspace.symbols.path, list(counts))
    inlined: Counter[str] = Counter()
    own: Counter[str] = Counter()
    for address, n in counts.items():
        chain = chains[address]
        (inlined if len(chain) > 1 else own)[chain[0]] += n

    rows = workspace.profile().functions

    assert inlined
    assert {row.name: row.self_insns for row in rows if row.inlined} == inlined
    in_c = {
        row.name: row.self_insns
        for row in rows
        if not row.inlined and row.name in own and (row.file or "").endswith((".c", ".h", ".inc"))
    }
    assert len(in_c) > 10
    assert in_c == {name: own[name] for name in in_c}
    assert sum(row.self_insns for row in rows) == workspace.program.tables.instructions


def test_the_tree_is_the_same_when_inlined_functions_are_part_of_their_holders(
    workspace: Workspace,
) -> None:
    with_nodes, without = workspace.inlined_program, workspace.program

    assert any(row.kind is NodeKind.INLINED for row in with_nodes.calls.nodes)
    assert paths_of(with_nodes) == paths_of(without)
    roots = [row for row in with_nodes.calls.nodes[1:] if row.parent == 0]
    assert sum(row.inclusive_insns for row in roots) == without.tables.instructions
    deepest = with_nodes.calls.nodes[with_nodes.calls.deepest]
    assert deepest.depth == without.calls.nodes[without.calls.deepest].depth


def test_an_inlined_function_is_below_one_that_addr2line_says_holds_it(
    workspace: Workspace,
) -> None:
    program = workspace.inlined_program
    counts = workspace.program.counts.program
    pairs = {
        (inner, outer)
        for chain in chains_of(workspace.symbols.path, list(counts)).values()
        for inner, outer in itertools.pairwise(chain)
    }
    nodes = program.calls.nodes
    found = {
        (numbered(program, row.function).name, numbered(program, nodes[row.parent].function).name)
        for row in nodes
        if row.kind is NodeKind.INLINED
    }

    assert found
    assert found <= pairs


def chains_of(elf: Path, addresses: list[int]) -> dict[int, list[str]]:
    """The functions that each instruction belongs to, innermost first, as addr2line says."""
    chains = addr2line(elf, addresses)
    return {
        address: [name for name, _ in chain]
        for address, chain in zip(addresses, chains, strict=True)
    }


def paths_of(program: Program) -> Counter[tuple[object, ...]]:
    """Calls and self instructions by path, inlined functions' added to their holders'."""
    paths: list[tuple[object, ...]] = [()]
    result: Counter[tuple[object, ...]] = Counter()
    for row in program.calls.nodes[1:]:
        inlined = row.kind is NodeKind.INLINED
        above = paths[row.parent]
        paths.append(above if inlined else (*above, row.kind, row.function))
        result[(*paths[-1], "calls")] += row.calls
        result[(*paths[-1], "self")] += row.self_insns
    return +result
