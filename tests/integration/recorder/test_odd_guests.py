# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that do what no sane program does: recorded right all the same, and ended in time."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.gdbext_cli import gdbext

# Five rounds of two instructions and what is around them; then every fetch of a trap handler that
# is not there traps again, and no block is executed any more.
NO_HANDLER = """
.globl _start
_start: li t0, 5
1:      addi t0, t0, -1
        bnez t0, 1b
        csrw mtvec, zero
        li a0, 0
        jr a0
"""
NO_HANDLER_INSNS = 1 + 2 * 5 + 3

# Core 1 counts and sleeps, core 0 runs for ever.
ONE_SLEEPS = """
.globl _start
_start: csrr a0, mhartid
        li t0, 1000
1:      addi t0, t0, -1
        bnez t0, 1b
        bnez a0, sleep
spin:   j spin
sleep:  wfi
        j sleep
"""


def riscv_elf(folder: Path, source: str) -> Path:
    """Assemble and link at the start of RAM; skips without the cross compiler."""
    compiler = shutil.which("riscv64-unknown-elf-gcc")
    if compiler is None:
        pytest.skip("riscv64-unknown-elf-gcc is not installed")
    text, elf = folder / "odd.S", folder / "odd.elf"
    text.write_text(source)
    options = ["-march=rv64imac_zicsr", "-mabi=lp64", "-nostdlib", "-static"]
    subprocess.run([compiler, *options, "-Wl,-Ttext=0x80000000", "-o", elf, text], check=True)
    return elf


def test_a_guest_that_executes_no_block_any_more_is_ended(tmp_path: Path) -> None:
    elf = riscv_elf(tmp_path, NO_HANDLER)
    out = tmp_path / "t.rec"

    done = gdbext(
        "record", elf, "--board", "virt-rv64", "-o", out, "--timeout", "1", runtime=tmp_path
    )
    analyzed = gdbext("analyze", out, "--json", runtime=tmp_path)

    assert done.status == 124, done.err
    function = next(f for f in json.loads(analyzed.out)["functions"] if f["name"] == "_start")
    assert function["self_insns"] == NO_HANDLER_INSNS


@pytest.mark.parametrize("how", ["tcg,thread=single", "tcg,thread=multi"])
def test_a_core_that_sleeps_beside_one_that_runs_is_stopped(how: str, tmp_path: Path) -> None:
    elf = riscv_elf(tmp_path, ONE_SLEEPS)
    out = tmp_path / "t.rec"

    done = gdbext(
        *("record", elf, "--board", "virt-rv64", "-o", out, "--timeout", "1"),
        *("--", "-smp", "2", "-accel", how),
        runtime=tmp_path,
    )

    if "cannot tell several vCPUs" in done.err:
        pytest.skip("this QEMU tells vCPUs on one thread not apart")
    assert done.status == 124, done.err
    assert "no answer" not in done.err
