# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage of real recordings: counts against QEMU's one-instruction log, lines against readelf's
line table, conditional branches against objdump's mnemonics."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

from gdbext.analyses.workspace import Workspace
from gdbext.coverage.filters import FileFilter
from gdbext.coverage.measure import Settings
from gdbext.coverage.model import Branch, Coverage, Decision, Line
from gdbext.target.boards import load_board
from gdbext.target.qemu_binary import QemuBinary
from tests.support.firmware import firmware_path
from tests.support.qemu_runs import icount, record, skip_if_mixed_up
from tests.support.qemus import qemu_in
from tests.truth.binutils import PREFIXES, functions, symbols
from tests.truth.insnlog import collapse, run_logged
from tests.truth.lines import code_lines, conditional_instructions, state_of
from tests.truth.listing import SAYS, Listed, listing

PROGRAMS = [
    ("basic", "mps2-an385", "O0"),
    ("basic", "mps2-an385", "O2"),
    ("calls", "mps2-an385", "O2"),
    ("midblock", "mps2-an385", ""),
    ("basic", "microbit", "O2"),
    ("basic", "vexpress-a9", "O2"),
    ("basic", "virt-aarch64", "O2"),
    ("basic", "virt-rv32", "O2"),
    ("basic", "q35-x86_64", "O2"),
    # C++ templates, inlined and discarded functions, assembler; code in RAM; linkers; Rust.
    ("features", "mps2-an385", ""),
    ("linking", "mps2-an385", "O2"),
    ("linking", "mps2-an385", "lto"),
    ("linking", "q35-x86_64", "icf"),
    ("rust", "q35-x86_64", "O0"),
    ("rust", "q35-x86_64", "O2"),
]
WITHOUT_INTERRUPTS = [
    ("calls", "mps2-an385", "O0-quiet"),
    ("calls", "mps2-an385", "O2-quiet"),
    ("calls", "virt-rv32", "O2-quiet"),
    ("calls", "virt-aarch64", "O2-quiet"),
]


@dataclass(frozen=True)
class Truth:
    """One program's run: what we say, and what QEMU logged."""

    coverage: Coverage
    insns: dict[int, int]
    log: list[int]
    ran: Counter[int]
    elf: Path
    target: str

    @cached_property
    def code(self) -> dict[int, Listed]:
        """What objdump lists, by address; of a PC without the code in other modes, and without
        what may run until the machine is switched off: a loop, and without optimisation the end
        of the function that does it."""
        found = listing(f"{PREFIXES[self.target]}objdump", self.elf)
        code = {insn.address: insn for insn in found if insn}
        if self.target == "x86_64":
            main = symbols(self.elf, self.target)["main"]
            left_out = {
                address
                for end in functions(self.elf, self.target)
                if end.name in ("gx_exit", "outw")
                for address in range(end.address, end.address + end.size_bytes)
            }
            return {a: insn for a, insn in code.items() if a >= main and a not in left_out}
        return code

    @property
    def branches(self) -> list[Branch]:
        """Of all files."""
        return [branch for file in self.coverage.files for branch in file.branches]

    @property
    def decisions(self) -> list[Decision]:
        """Of all files."""
        return [decision for file in self.coverage.files for decision in file.decisions]

    @property
    def lines(self) -> dict[tuple[str, int], Line]:
        """By (name of the file, line)."""
        return {
            (Path(file.path).name, line.line): line
            for file in self.coverage.files
            for line in file.lines
        }


@cache
def truth(program: str, board_name: str, variant: str) -> Truth:
    """Run a program twice: recorded, and with the log."""
    import tempfile

    board = load_board(board_name)
    qemu: QemuBinary = qemu_in("", board.qemu)
    skip_if_mixed_up(board, qemu)
    elf = firmware_path(program, board_name, variant)
    with tempfile.TemporaryDirectory() as folder:
        live = Path(folder, "live")
        record(board, elf, qemu, live, icount(board))
        workspace = Workspace(live, elf)
        workspace.refresh()
        coverage = workspace.coverage(Settings(FileFilter(everything=True)))
        insns = workspace.execution().insns
    logged = [vcpu for vcpu in run_logged(board, elf, icount(board), qemu).vcpus if vcpu]
    assert len(logged) == 1
    log = list(logged[0])
    if board.target == "x86_64":
        # `rep` may go round inside a block; the machine ends a little after the request to do so.
        code = {insn.address: insn for insn in listing("x86_64-linux-gnu-objdump", elf) if insn}
        repeating = {a for a, insn in code.items() if re.match("rep", insn.mnemonic)}
        log = list(collapse(log, repeating))
    return Truth(coverage, insns, log, Counter(log), elf, board.target)


@pytest.fixture(params=PROGRAMS, ids="-".join)
def run(request: pytest.FixtureRequest) -> Truth:
    """Each program."""
    return truth(*request.param)


def test_counts_of_instructions_equal_the_log(run: Truth) -> None:
    code = run.code
    differing = {
        address
        for address in code
        if run.insns.get(address, 0) != run.ran[address]
        and not (run.target == "x86_64" and _may_differ(code[address]))
    }

    assert not {
        hex(address): (run.insns.get(address, 0), run.ran[address]) for address in differing
    }
    assert sum(run.insns.get(address, 0) for address in code) > 1000


def _may_differ(insn: Listed) -> bool:
    """PC: repeated instructions."""
    return insn.mnemonic.startswith("rep")


def test_states_of_lines_equal_a_second_implementation(run: Truth) -> None:
    expected = code_lines(run.elf, run.target, run.ran)
    conditional = conditional_instructions(run.elf, run.target)
    ours = run.lines
    # What objdump reads in the wrong mode, and what runs until the machine is switched off.
    odd = {
        k for k, line in expected.items() if run.target == "x86_64" and line.all - run.code.keys()
    }

    assert ours.keys() == expected.keys()
    wrong = {}
    for key in expected.keys() - odd:
        line = expected[key]
        said = "covered" if ours[key].covered else ours[key].state
        state = state_of(line, run.ran, conditional)
        if said != state:
            wrong[key] = (said, state)
        elif said == "covered":
            part = any(not run.ran[address] for address in line.all)
            assert (ours[key].state == "partial") >= part, key
        assert ours[key].insns.total == len(line.all), key
    assert not wrong
    assert {"covered", "uncovered"} <= {line.state for line in ours.values()}


def test_conditional_branches_are_those_that_objdump_lists(run: Truth) -> None:
    expected = set()
    says = SAYS[run.target]
    for insn in run.code.values():
        said = says(insn)
        if said.kind == "COND" or (said.conditional and said.kind != "TRAP_CALL"):
            expected.add(insn.address)
    without_line = {b.address for b in run.branches if b.line is None}

    assert {b.address for b in run.branches} & run.code.keys() <= expected
    # Functions of compilers' libraries may have no lines, and so no file.
    missing = expected - {b.address for b in run.branches}
    lines = {
        address
        for line in code_lines(run.elf, run.target, run.ran).values()
        for address in line.all
    }
    assert not missing & lines
    assert not without_line & lines


def test_decisions_without_branch_are_those_that_objdump_lists(run: Truth) -> None:
    expected = conditional_instructions(run.elf, run.target)
    branches = {branch.address for branch in run.branches}
    lines = {
        address
        for line in code_lines(run.elf, run.target, run.ran).values()
        for address in line.all
    }

    ours = {d.address: d.kind == "predicated" for d in run.decisions if d.line}

    assert ours == {a: may_fail for a, may_fail in expected.items() if a in lines - branches}
    for decision in run.decisions:
        assert decision.executed == run.ran[decision.address]


@pytest.mark.parametrize("program", WITHOUT_INTERRUPTS, ids="-".join)
def test_outcomes_equal_the_log_where_no_interrupt_comes(program: tuple[str, str, str]) -> None:
    run = truth(*program)
    went = Counter(zip(run.log, run.log[1:], strict=False))
    sizes = {address: len(insn.code) for address, insn in run.code.items()}

    for branch in run.branches:
        if branch.address not in sizes:
            continue
        following = branch.address + sizes[branch.address]
        assert branch.executed == run.ran[branch.address]
        assert branch.not_taken == went[branch.address, following], hex(branch.address)
        taken = sum(n for (at, to), n in went.items() if at == branch.address and to != following)
        assert branch.taken == taken, hex(branch.address)
        assert branch.unknown == 0
    assert sum(branch.taken > 0 for branch in run.branches) > 20
    assert sum(branch.not_taken > 0 for branch in run.branches) > 20


def test_outcomes_are_within_what_interrupts_hide(run: Truth) -> None:
    went = Counter(zip(run.log, run.log[1:], strict=False))
    sizes = {address: len(insn.code) for address, insn in run.code.items()}

    hidden = 0
    for branch in run.branches:
        if branch.address not in sizes:
            continue
        following = branch.address + sizes[branch.address]
        not_taken = went[branch.address, following]
        taken = went[branch.address, branch.target]
        interrupted = run.ran[branch.address] - not_taken - taken
        assert not_taken <= branch.not_taken <= not_taken + interrupted, hex(branch.address)
        assert taken <= branch.taken <= taken + interrupted, hex(branch.address)
        assert branch.executed == run.ran[branch.address]
        hidden += branch.unknown
    # The interrupts of these programs return, but for those that come as the program ends.
    assert hidden <= 2
