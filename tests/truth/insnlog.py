# SPDX-License-Identifier: GPL-2.0-or-later
"""The instructions a program executed, as QEMU's own log tells them: the truth for recordings.

QEMU is run with one instruction per translation block and `-d exec,nochain`, so that each line of
the log is one instruction that was begun. Two kinds of lines are none:

- A line followed by "Stopped execution of TB chain before": QEMU left before the instruction.
- A re-execution: at a device access in the wrong place QEMU gives up the instruction and
  executes it again, with extra compile flags. The log has such flags as the last number in
  brackets, so that a branch to itself, a `rep` or a restart after a fault, which have the same
  address twice but the same flags, are told from it.

A `rep` instruction of x86 gives one entry for each time round, and one more (see `collapse`).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gdbext.target import qemu_binary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gdbext.target.boards import Board
    from gdbext.target.qemu_binary import QemuBinary

__all__ = ["InstructionLog", "TruthError", "collapse", "instruction_log", "parse_log", "run_logged"]


class TruthError(Exception):
    """The log could not be made, or holds what the rules here do not know."""


@dataclass
class InstructionLog:
    """What each vCPU executed, and how QEMU ended."""

    vcpus: list[array[int]] = field(default_factory=list)
    """Per vCPU: addresses (virtual, without Thumb bit) of the begun instructions, oldest first."""
    order: bytearray = field(default_factory=bytearray)
    """The vCPU of every instruction, in the order of the log (exact with `thread=single`)."""
    stopped: int = 0
    """Lines dropped because QEMU left before them."""
    reexecuted: int = 0
    """Lines dropped because they repeat the instruction before."""
    status: int = 0
    """QEMU's exit status."""
    output: bytes = b""
    """What QEMU and the program wrote."""


def instruction_log(
    board: Board,
    elf: Path,
    qemu_args: Sequence[str] | None = None,
    qemu: QemuBinary | None = None,
) -> array[int]:
    """Return the addresses of all instructions of the one vCPU that ran, oldest first.

    Raises:
        TruthError: another vCPU has run as well, or as `run_logged`.
    """
    log = run_logged(board, elf, qemu_args, qemu)
    running = [addresses for addresses in log.vcpus if addresses]
    if len(running) != 1:
        raise TruthError(f"{elf}: {len(running)} vCPUs ran, not one")
    return running[0]


def run_logged(
    board: Board,
    elf: Path,
    qemu_args: Sequence[str] | None = None,
    qemu: QemuBinary | None = None,
    timeout_s: float = 300,
) -> InstructionLog:
    """Run the program to its end with QEMU's log on, and return what it executed.

    Args:
        qemu_args: more arguments for QEMU; None: the board's -icount, for a repeatable run.
        qemu: None: the one that gdbext would take.

    Raises:
        TruthError: QEMU does not end in time, writes no log, or one that is not understood.
    """
    binary = qemu or qemu_binary.find(board.qemu)
    if qemu_args is None:
        qemu_args = ["-icount", board.icount] if board.icount else []
    with tempfile.TemporaryDirectory(prefix="insnlog-") as folder:
        log = Path(folder, "exec.log")
        command = [
            str(binary.path),
            *binary.arguments,
            *one_instruction_a_block([*board.arguments(elf), *qemu_args], binary.version),
            *("-d", "exec,nochain", "-D", str(log)),
        ]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **binary.environment},
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise TruthError(f"{' '.join(command)}: no end after {timeout_s:g} s") from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if not log.exists():
            raise TruthError(f"{' '.join(command)}: no log: {output.decode(errors='replace')}")
        result = parse_log(log)
    result.status = process.returncode
    result.output = output
    return result


def one_instruction_a_block(arguments: Sequence[str], version: tuple[int, ...]) -> list[str]:
    """Return QEMU's arguments with the option for one instruction per block.

    It was renamed in QEMU 8.1, and of several -accel only the first counts.
    """
    if version < (8, 1):
        return [*arguments, "-singlestep"]
    if "-accel" not in arguments:
        return [*arguments, "-accel", "tcg,one-insn-per-tb=on"]
    value = arguments.index("-accel") + 1
    changed = f"{arguments[value]},one-insn-per-tb=on"
    return [*arguments[:value], changed, *arguments[value + 1 :]]


def parse_log(path: Path) -> InstructionLog:
    """Read a log of `-d exec,nochain` with one instruction per block.

    A line that is cut at the end of the file (QEMU was killed) is left out.

    Raises:
        TruthError: a line is none of execution, stop and rewinding, a block has several
            instructions, or a stop belongs to no execution.
    """
    log = InstructionLog()
    last: list[_Last] = []
    order = log.order
    for piece in _pieces(path):
        rows = _LINE.findall(piece)
        if len(rows) != piece.count(b"\n"):
            odd = next(line for line in piece.splitlines() if not _LINE.match(line + b"\n"))
            raise TruthError(f"{path}: not a line of -d exec: {odd.decode(errors='replace')}")
        for vcpu_text, block, address_text, flags_text, stopped_block in rows:
            if stopped_block:
                _take_back(log, last, stopped_block)
                continue
            if not vcpu_text:
                continue  # rewound: the re-execution itself follows, and is known by its flags
            vcpu = int(vcpu_text)
            while vcpu >= len(last):
                last.append(_Last())
                log.vcpus.append(array("Q"))
            state = last[vcpu]
            address = int(address_text, 16)
            state.block = block
            if flags_text != state.flags_text:
                flags = int(flags_text, 16)
                if flags & _COUNT_MASK != 1:
                    raise TruthError(f"{path}: blocks of several instructions: {flags_text!r}")
                again = address == state.address and flags & state.flags == state.flags
                state.flags_text = flags_text
                state.flags = flags
                if again:
                    state.counted = False
                    log.reexecuted += 1
                    continue
            state.address = address
            state.counted = True
            log.vcpus[vcpu].append(address)
            order.append(vcpu)
    return log


def collapse(addresses: Sequence[int], repeating: Collection[int]) -> array[int]:
    """Return the log with each run of one address in `repeating` as a single entry.

    QEMU may go round a `rep` instruction inside a block or by a block for each time round; which
    one depends on its version and on -icount. `repeating` holds the addresses of such instructions.
    """
    out: array[int] = array("Q")
    before = None
    for address in addresses:
        if address != before or address not in repeating:
            out.append(address)
        before = address
    return out


_LINE = re.compile(
    rb"^(?:Trace (\d+): (\w+) \[[0-9a-f]+/([0-9a-f]+)/[0-9a-f]+/([0-9a-f]+)\]"
    rb"|Stopped execution of TB chain before (\w+)"
    rb"|cpu_io_recompile: rewound) ?[^\n]*\n",
    re.MULTILINE,
)
# The number of instructions a block may have: CF_COUNT_MASK in QEMU's exec/translation-block.h.
_COUNT_MASK = 0x1FF
_PIECE_BYTES = 8 << 20


@dataclass
class _Last:
    """The line before, of one vCPU."""

    block: bytes = b""
    address: int | None = None
    flags_text: bytes = b""
    flags: int = 0
    counted: bool = False


def _pieces(path: Path) -> Iterator[bytes]:
    """Yield the file in pieces of whole lines."""
    rest = b""
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            whole, newline, rest = (rest + piece).rpartition(b"\n")
            yield whole + newline


def _take_back(log: InstructionLog, last: list[_Last], block: bytes) -> None:
    """Drop the last instruction of the vCPU that stopped before `block`."""
    stopped = [vcpu for vcpu, state in enumerate(last) if state.block == block]
    if len(stopped) > 1 and log.order and log.order[-1] in stopped:
        stopped = [log.order[-1]]
    if len(stopped) != 1:
        raise TruthError(f"a stop before block {block.decode()}, which {len(stopped)} vCPUs run")
    vcpu = stopped[0]
    state = last[vcpu]
    log.stopped += 1
    if state.counted:
        log.vcpus[vcpu].pop()
        del log.order[log.order.rindex(vcpu)]
    last[vcpu] = _Last(flags_text=state.flags_text, flags=state.flags)
