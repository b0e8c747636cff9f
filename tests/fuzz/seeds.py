# SPDX-License-Identifier: GPL-2.0-or-later
"""Seeds for fuzz_replay.c, of real recordings: `python -m tests.fuzz.seeds DIRECTORY`.

Runs test firmware in QEMU and writes short pieces of what was executed, each with the blocks it
needs, in the form that fuzz_replay.c describes.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from gdbext.recording.format import Event, Probe, Register, pack_leb
from gdbext.recording.reader import Recording
from gdbext.recording.tokens import BlockStep, steps
from gdbext.replay.classify import Classifier
from tests.support.firmware import FIRMWARE_DIRECTORY
from tests.support.tokens import Step, encode

PROGRAMS: Final = (
    ("basic-mps2-an385-O2", "mps2-an385"),
    ("midblock-mps2-an385", "mps2-an385"),
    ("midblock-virt-rv64", "virt-rv64"),
    ("midblock-vexpress-a9", "vexpress-a9"),
    ("midblock-virt-aarch64", "virt-aarch64"),
    ("midblock-q35-x86_64", "q35-x86_64"),
)
INSNS: Final = 200_000
PIECE: Final = 120
"""Steps in a seed."""
PIECES: Final = 16
"""Seeds of one recording, besides those around rare events."""
OPTION_EVENTS: Final = 1
OPTION_M_PROFILE: Final = 2
MARK: Final = 6


def main(directory: Path) -> int:
    """Record and write; the exit status."""
    directory.mkdir(parents=True, exist_ok=True)
    written = 0
    for program, board in PROGRAMS:
        with tempfile.TemporaryDirectory() as place:
            output = Path(place, "t.rec")
            if _record(program, board, output):
                for number, seed in enumerate(_seeds(output, board)):
                    (directory / f"{program}-{number}").write_bytes(seed)
                    written += 1
    print(f"{written} seeds of real recordings")
    return 0 if written else 1


def _record(program: str, board: str, output: Path) -> bool:
    target = f"build/{program}.elf"
    make = ["make", "-s", "--no-print-directory", "-C", str(FIRMWARE_DIRECTORY)]
    missing = subprocess.run([*make, "missing"], capture_output=True, text=True, check=True)
    if target in missing.stdout.split():
        print(f"{program}: no compiler here", file=sys.stderr)
        return False
    subprocess.run([*make, target], check=True)
    words = ["record", str(FIRMWARE_DIRECTORY / target), "--board", board, "-o", str(output)]
    limits = ["--insns", str(INSNS), "--timeout", "60", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "gdbext.cli", *words, *limits],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode == 0


def _seeds(path: Path, board: str) -> list[bytes]:
    """Pieces of a recording, evenly spread, and around events other than marks."""
    with Recording.open(path) as recording:
        executed: list[Step] = []
        for data in recording.data():
            for step in steps(data.raw, data.run, recording.blocks.count, path.name):
                if isinstance(step, BlockStep):
                    executed.append(step.block)
                else:
                    executed.append((step.event, step.payload))
        classes = Classifier(str(recording.meta["target"]))
        classes.update(recording.blocks)
        options = OPTION_M_PROFILE if board.startswith("mps2") else 0
        if "discontinuity" in recording.meta["features"]:
            options |= OPTION_EVENTS
        starts = set(range(0, len(executed), max(len(executed) // PIECES, 1)))
        events = [
            i for i, step in enumerate(executed) if isinstance(step, tuple) and step[0] != MARK
        ]
        starts |= {max(i - PIECE // 2, 0) for i in events[:: max(len(events) // PIECES, 1)]}
        pieces = [executed[start : start + PIECE] for start in sorted(starts)]
        if "probes" not in recording.meta["features"]:
            pieces += [_probed(piece, number) for number, piece in enumerate(pieces)]
        return [_seed(piece, recording, classes, options) for piece in pieces]


def _probed(piece: list[Step], number: int) -> list[Step]:
    """The piece with CONTEXT events as a QEMU that reads registers makes them, on three stacks."""
    probed: list[Step] = []
    for place, step in enumerate(piece):
        if isinstance(step, int) and place % 5 == number % 5:
            sp = 0x2000 + 0x100 * (place // 5 % 3)
            why = Probe.VECTOR if place // 5 % 2 else Probe.RETURN
            why |= Probe.SWITCH if place % 4 == 0 else Probe.SWITCHED if place % 4 == 1 else 0
            registers = {Register.PROBE: why, Register.SP: sp}
            if number % 3 == 0:  # Cortex-M
                lr = 0xFFFFFFFD if why & Probe.VECTOR else 0x101
                registers |= {Register.LR: lr, Register.XPSR: place // 3 % 3, Register.PSP: sp - 32}
            elif number % 3 == 1:
                registers |= {Register.CPSR: 0x3C5, Register.SPSR_EL1: 0x344, Register.SP_EL0: sp}
            else:
                registers |= {Register.PRIV: 3, Register.MCAUSE: 0x80000007}
            numbers = [len(registers), *(n for pair in registers.items() for n in pair)]
            probed.append((Event.CONTEXT, b"".join(pack_leb(n) for n in numbers)))
        probed.append(step)
    return probed


def _seed(piece: list[Step], recording: Recording, classes: Classifier, options: int) -> bytes:
    """One input of fuzz_replay.c: a chunk of the piece's first half, and one of its second."""
    blocks = recording.blocks
    used = sorted({step for step in piece if isinstance(step, int)})
    new_id = {block: number for number, block in enumerate(used, 1)}
    by_address = {blocks.address[block]: new_id[block] for block in used}
    table = b"".join(blocks.entries(block, block + 1) for block in used)
    kinds = b"".join(
        struct.pack(
            "<BBH",
            classes.end_kind[block],
            classes.flags[block],
            by_address.get(classes.target[block], 0),
        )
        for block in used
    )
    out = struct.pack("<BBBBH", options, 7, 1, 1, len(table))
    out += struct.pack("<HH", min(2, len(used)), min(1, len(used))) + table + kinds
    half = len(piece) // 2
    for end, part in ((True, piece[:half]), (False, piece[half:])):
        renamed: list[Step] = [new_id[s] if isinstance(s, int) else s for s in part]
        tokens, run = encode(renamed, end=end)
        out += struct.pack("<BBH", 0, min(run, 255), len(tokens)) + tokens
    return out


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
