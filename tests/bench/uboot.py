# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows: U-Boot (Debian's u-boot-qemu) from reset to its prompt, and a few commands there."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tests.bench.machine import QemuRelease
from tests.bench.pairing import Spread, ratios, take_turns
from tests.bench.processes import BenchError, Usage, wait_used
from tests.bench.qemu_runs import LOADED, PLAIN, RECORDING, Run, plugin_words, size_of
from tests.bench.recorder import memory_row, slowdown_note
from tests.bench.settings import Settings
from tests.bench.table import BYTES, RATIO, Row

__all__ = ["rows"]

SLOWDOWN_LIMITS: Final = (1.3, 1.1)
SIZE_LIMITS: Final = (0.003, 0.001)

IMAGES: Final = Path("/usr/lib/u-boot")
ANSWER_TIMEOUT_S: Final = 120.0
PROMPT: Final = b"\n=> "
COUNTDOWN: Final = b"Hit any key"


@dataclass(frozen=True)
class _Machine:
    """One of the boards that U-Boot is built for."""

    name: str
    qemu: str
    arguments: Sequence[str]
    image: str
    ram: int
    """Address of memory that commands read."""

    @property
    def commands(self) -> list[str]:
        """What is typed at the prompt."""
        return [
            "version",
            "bdinfo",
            "printenv",
            "help",
            f"md.b {self.ram:#x} 4000",
            f"crc32 {self.ram:#x} 400000",
        ]


MACHINES: Final = (
    _Machine("arm", "qemu-system-arm", ("-M", "virt"), "qemu_arm", 0x4000_0000),
    _Machine(
        "arm64",
        "qemu-system-aarch64",
        ("-M", "virt", "-cpu", "cortex-a57"),
        "qemu_arm64",
        0x4000_0000,
    ),
    _Machine("rv64", "qemu-system-riscv64", ("-M", "virt"), "qemu-riscv64", 0x8000_0000),
)


def rows(settings: Settings) -> list[Row]:
    """The rows for every machine and QEMU."""
    result = []
    for machine in MACHINES:
        for release in settings.qemus:
            result += _rows_of(settings, machine, release)
    return result


def _rows_of(settings: Settings, machine: _Machine, release: QemuRelease) -> list[Row]:
    where = f"QEMU {release.name}, U-Boot {machine.name}"
    rounds = take_turns(
        {
            kind: partial(_boot, settings, machine, release, kind)
            for kind in (PLAIN, LOADED, RECORDING)
        },
        settings.rounds,
        warm_up=settings.warm_up,
        say=settings.saying(where),
    )

    def slowdown(what: str, kind: str, must: float | None, aim: float | None) -> Row:
        spread = Spread.of(ratios(rounds, kind, PLAIN, lambda run: run.wall_s))
        return Row(what, where, RATIO, spread, must, aim, slowdown_note(rounds, kind))

    sizes = Spread.of(result[RECORDING].bytes_per_insn for result in rounds)
    n_insns = rounds[-1][RECORDING].n_insns
    note = f"{n_insns / 1e6:.0f} M instructions"
    return [
        slowdown("plugin loaded, not recording, vs plain", LOADED, None, None),
        slowdown("recording everything to disk, vs plain", RECORDING, *SLOWDOWN_LIMITS),
        Row("bytes per instruction on disk", where, BYTES, sizes, *SIZE_LIMITS, note=note),
        memory_row(rounds, where),
    ]


def _boot(settings: Settings, machine: _Machine, release: QemuRelease, kind: str) -> Run:
    """Boot, type the commands, power off. Its time ends with the last command's answer."""
    qemu = release.program(machine.qemu)
    image = IMAGES / machine.image / "u-boot.bin"
    if not image.is_file():
        raise BenchError(f"{image}: not there; install Debian's package u-boot-qemu")
    with settings.live_directory() as live:
        command = [str(qemu.path), *qemu.arguments, *machine.arguments, "-m", "128"]
        command += ["-bios", str(image), "-nic", "none", "-display", "none", "-monitor", "none"]
        command += ["-serial", "stdio", *plugin_words(qemu, kind, live)]
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **qemu.environment},
        )
        try:
            console = _Console(process)
            console.wait_for(COUNTDOWN)
            console.type(" ")
            console.wait_for(PROMPT)
            for typed in machine.commands:
                console.type(typed + "\r")
                console.wait_for(PROMPT)
            wall_s = time.monotonic() - started
            console.type("poweroff\r")
            console.wait_for_end()
            used = wait_used(process, started)
        finally:
            if process.returncode is None:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        if process.returncode != 0:
            raise BenchError(f"{command[0]}: ended with status {process.returncode}")
        size = size_of(live) if kind == RECORDING else None
        return Run(Usage(wall_s, used.cpu_s, used.max_rss_bytes), size)


class _Console:
    """The serial console of a QEMU, on its standard input and output."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._input = process.stdin.fileno()
        self._output = process.stdout.fileno()
        self._seen = b""

    def type(self, text: str) -> None:
        """Type; what was printed before does not count for `wait_for`."""
        self._seen = b""
        os.write(self._input, text.encode())

    def wait_for(self, text: bytes) -> None:
        """Read until a text is printed.

        Raises:
            BenchError: QEMU has ended, or two minutes have gone.
        """
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while text not in self._seen:
            if not self._read(deadline):
                raise BenchError(f"U-Boot ended before {text!r}; last: {self._seen[-200:]!r}")

    def wait_for_end(self) -> None:
        """Read until QEMU has closed its output."""
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while self._read(deadline):
            pass

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._output], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            raise BenchError(f"U-Boot is silent; last: {self._seen[-200:]!r}")
        data = os.read(self._output, 1 << 16)
        self._seen += data
        return bool(data)
