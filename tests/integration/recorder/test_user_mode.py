# SPDX-License-Identifier: GPL-2.0-or-later
"""Single Linux programs in QEMU's user-mode emulators: exact, and what is not is said."""

from __future__ import annotations

import json
import shutil
import subprocess
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gdbext.recording.format import Event
from gdbext.target import qemu_binary
from tests.support.executed import VcpuRun, executed, first_difference
from tests.support.gdbext_cli import Done, gdbext
from tests.truth.insnlog import parse_log

SOURCE = Path(__file__).parents[2] / "firmware" / "user" / "program.c"
COMPILERS = {
    "arm": ["arm-none-eabi-gcc", "-mcpu=cortex-a7", "-marm"],
    "thumb": ["arm-none-eabi-gcc", "-mcpu=cortex-a7", "-mthumb"],
    "aarch64": ["aarch64-linux-gnu-gcc", "-no-pie"],
    "riscv64": ["riscv64-unknown-elf-gcc", "-march=rv64gc", "-mabi=lp64d"],
    "x86_64": ["x86_64-linux-gnu-gcc", "-no-pie"],
}
ROUNDS = 5
"""Rounds of the loop in program(); tree(6) makes 25 calls, itself included."""


def emulator(target: str) -> str:
    name = f"qemu-{'arm' if target == 'thumb' else target}"
    if shutil.which(name) is None:
        pytest.skip(f"{name} (qemu-user) is not installed")
    if qemu_binary.find(name, user_mode=True).family != "v1":
        pytest.skip(f"{name} is newer than 8.2")
    return name


def build(target: str, folder: Path, *flags: str) -> Path:
    if shutil.which(COMPILERS[target][0]) is None:
        pytest.skip(f"{COMPILERS[target][0]} is not installed")
    program = folder / "program"
    always = ["-g", "-O1", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector"]
    command = [*COMPILERS[target], *always, *flags, str(SOURCE), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def recorded(target: str, folder: Path, *flags: str) -> tuple[Done, VcpuRun]:
    qemu = emulator(target)
    program = build(target, folder, *flags)
    done = gdbext("record", program, "--user", qemu, "-o", folder / "t.rec", runtime=folder)
    [run] = executed(folder / "t.rec")
    return done, run


def logged(target: str, folder: Path) -> array[int]:
    log = folder / "exec.log"
    command = [emulator(target), "-singlestep", "-d", "exec,nochain", "-D", str(log)]
    subprocess.run([*command, str(folder / "program")], capture_output=True, check=False)
    return parse_log(log).vcpus[0]


def answer(folder: Path, *words: str) -> Any:
    done = gdbext(words[0], folder / "t.rec", *words[1:], "--json", runtime=folder)
    assert done.status == 0, done.err
    return json.loads(done.out)


@pytest.mark.parametrize("target", COMPILERS)
def test_every_instruction_is_recorded_and_signal_handlers_are_told(
    tmp_path: Path, target: str
) -> None:
    done, run = recorded(target, tmp_path)

    # The program counts for itself.
    assert done.out.split() == [str(ROUNDS), str(25 * ROUNDS), str(ROUNDS)]
    assert done.status == 7
    truth = logged(target, tmp_path)
    assert run.addresses == truth, first_difference(run.addresses, truth)
    [handler] = answer(tmp_path, "interrupts")["handlers"]
    assert handler["name"] == "on_signal"
    assert handler["count"] == handler["complete"] == ROUNDS
    callers: Counter[str] = Counter()
    for row in answer(tmp_path, "callers", "tree")["callers"]:
        callers[row["function"]["name"]] += row["calls"]
    assert callers == {"program": ROUNDS, "tree": 24 * ROUNDS}


@pytest.mark.parametrize("target", ["aarch64", "x86_64"])
def test_second_thread_ends_the_recording_with_a_gap(tmp_path: Path, target: str) -> None:
    done, run = recorded(target, tmp_path, "-DTHREADS")

    assert done.status == 125
    assert "the recording is incomplete: the program started a thread" in done.err
    # What is there is what ran first, and then nothing.
    assert run.events[-1].event == Event.GAP
    assert run.events[-1].place == len(run.addresses)
    truth = logged(target, tmp_path)
    assert len(truth) > len(run.addresses) > 1000
    assert run.addresses == truth[: len(run.addresses)]


def test_program_that_closes_the_recorders_files_is_said(tmp_path: Path) -> None:
    done, run = recorded("x86_64", tmp_path, "-DCLOSE_ALL")

    assert done.status == 125
    assert "incomplete: cannot write the recording: Bad file descriptor" in done.err
    truth = logged("x86_64", tmp_path)  # up to where the program closes QEMU's log, too
    assert len(run.addresses) > len(truth) > 1000
    assert run.addresses[: len(truth)] == truth


@pytest.mark.parametrize("target", ["aarch64", "x86_64"])
def test_fork_leaves_the_first_process_exact(tmp_path: Path, target: str) -> None:
    done, run = recorded(target, tmp_path, "-DFORK_TOO")

    assert done.status == 7
    assert "the program forked; its first process is recorded, the others are not" in done.err
    assert run.events[-1].event == Event.MARK
    functions = {row["name"]: row["calls"] for row in answer(tmp_path, "analyze")["functions"]}
    # The parent calls it once more after the fork; the child's function never ran in it.
    assert functions["twice"] == ROUNDS + 1
    assert functions.get("other", 0) == 0


def test_fatal_signal_is_the_status_and_what_ran_is_kept(tmp_path: Path) -> None:
    done, run = recorded("x86_64", tmp_path, "-DCRASH")

    assert done.status == 128 + 11
    assert "the program ended by signal 11; its last block counts as executed whole" in done.err
    truth = logged("x86_64", tmp_path)
    whole = len(run.addresses) - run.last_block
    assert whole <= len(truth) <= len(run.addresses)
    assert run.addresses[: len(truth)] == truth


def test_program_at_no_fixed_address_is_refused(tmp_path: Path) -> None:
    qemu = emulator("x86_64")
    program = build("x86_64", tmp_path, "-static-pie", "-fPIE")

    done = gdbext("record", program, "--user", qemu, "-o", tmp_path / "t.rec", runtime=tmp_path)

    assert done.status == 125
    assert done.err == (
        f"gdbext: {program}: is position independent; link it with -static -no-pie to record it "
        "with --user\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give --board B, or --user QEMU for a single Linux program"),
        (["--user", "qemu-sparc"], "--user: 'qemu-sparc' is none of qemu-arm, "),
        (["--user", "qemu-system-arm"], "--user: 'qemu-system-arm' is none of qemu-arm, "),
    ],
)
def test_what_is_no_emulator_is_one_line(tmp_path: Path, words: list[str], said: str) -> None:
    done = gdbext("record", "program", *words, "-o", tmp_path / "t.rec", runtime=tmp_path)

    assert done.status == 125
    assert said in done.err
    assert done.err.count("\n") == 1
