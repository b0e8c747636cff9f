# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules by which a log of -d exec becomes a list of instructions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.truth.insnlog import TruthError, collapse, one_instruction_a_block, parse_log

PLAIN = "ff022201"
AGAIN = "ff023201"


def trace(address: int, flags: str = PLAIN, vcpu: int = 0, block: int | None = None) -> str:
    where = 0x7F0000000000 + (block if block is not None else address)
    return f"Trace {vcpu}: {where:#x} [00800400/{address:016x}/00000110/{flags}] symbol\n"


def stop(address: int, block: int | None = None) -> str:
    where = 0x7F0000000000 + (block if block is not None else address)
    return f"Stopped execution of TB chain before {where:#x} [{address:016x}] symbol\n"


def parsed(tmp_path: Path, *lines: str) -> list[list[int]]:
    path = tmp_path / "exec.log"
    path.write_text("".join(lines))
    return [addresses.tolist() for addresses in parse_log(path).vcpus]


def test_each_line_is_one_instruction(tmp_path: Path) -> None:
    assert parsed(tmp_path, trace(0x10), trace(0x12), trace(0x10)) == [[0x10, 0x12, 0x10]]


def test_empty_log_has_no_vcpus(tmp_path: Path) -> None:
    assert parsed(tmp_path) == []


def test_line_before_a_stop_was_not_executed(tmp_path: Path) -> None:
    lines = (trace(0x10), trace(0x12), stop(0x12), trace(0x80), trace(0x12))

    assert parsed(tmp_path, *lines) == [[0x10, 0x80, 0x12]]


def test_reexecution_with_more_flags_counts_once(tmp_path: Path) -> None:
    rewound = "cpu_io_recompile: rewound execution of TB to 0000000000000012\n"
    lines = (trace(0x10), trace(0x12), rewound, trace(0x12, AGAIN), trace(0x14))

    assert parsed(tmp_path, *lines) == [[0x10, 0x12, 0x14]]


def test_branch_to_itself_counts_each_time(tmp_path: Path) -> None:
    assert parsed(tmp_path, *[trace(0x20)] * 3) == [[0x20] * 3]


def test_device_access_in_a_repeat_counts_each_round(tmp_path: Path) -> None:
    lines = (trace(0x20), trace(0x20, AGAIN), trace(0x20), trace(0x20, AGAIN), trace(0x22))

    assert parsed(tmp_path, *lines) == [[0x20, 0x20, 0x22]]


def test_stop_before_the_reexecution_keeps_the_first(tmp_path: Path) -> None:
    lines = (trace(0x12), trace(0x12, AGAIN), stop(0x12), trace(0x80), trace(0x12))

    assert parsed(tmp_path, *lines) == [[0x12, 0x80, 0x12]]


def test_handler_entered_with_more_flags_is_no_reexecution(tmp_path: Path) -> None:
    lines = (trace(0x12), trace(0x80, AGAIN), trace(0x82))

    assert parsed(tmp_path, *lines) == [[0x12, 0x80, 0x82]]


def test_vcpus_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "exec.log"
    path.write_text(
        trace(0x10) + trace(0x90, vcpu=1) + stop(0x90) + trace(0x12) + trace(0x92, vcpu=1)
    )

    log = parse_log(path)

    assert [addresses.tolist() for addresses in log.vcpus] == [[0x10, 0x12], [0x92]]
    assert list(log.order) == [0, 0, 1]
    assert log.stopped == 1


def test_line_cut_at_the_end_is_left_out(tmp_path: Path) -> None:
    assert parsed(tmp_path, trace(0x10), trace(0x12)[:30]) == [[0x10]]


def test_unknown_line_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TruthError, match="not a line of -d exec: something else"):
        parsed(tmp_path, trace(0x10), "something else\n")


def test_blocks_of_several_instructions_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(TruthError, match="several instructions"):
        parsed(tmp_path, trace(0x10, "ff022200"))


def test_only_named_repeats_collapse() -> None:
    assert collapse([1, 2, 2, 2, 3, 3, 2], {2}).tolist() == [1, 2, 3, 3, 2]


def test_option_joins_an_accelerator_that_is_there() -> None:
    arguments = ["-accel", "tcg,thread=single", "-kernel", "x"]

    assert one_instruction_a_block(arguments, (10, 0, 2)) == [
        *("-accel", "tcg,thread=single,one-insn-per-tb=on"),
        *("-kernel", "x"),
    ]
    assert one_instruction_a_block(arguments, (7, 2, 22)) == [*arguments, "-singlestep"]
