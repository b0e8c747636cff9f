# SPDX-License-Identifier: GPL-2.0-or-later
"""From a board and a program to a running QEMU with the recorder, and what is known about it."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from gdbext.errors import TargetError
from gdbext.target import qemu_binary
from gdbext.target.attach import attach
from gdbext.target.launch import NO_OPTIONS, Emulator, RecorderOptions, launch
from gdbext.target.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gdbext.placed import PlacedElf
    from gdbext.target.attach import AttachedQemu, Attachment
    from gdbext.target.boards import Board
    from gdbext.target.qemu_binary import QemuBinary

__all__ = [
    "LAUNCH_FILE",
    "attach_with_program",
    "boot",
    "boot_for_gdb",
    "check_elf",
    "launch_meta",
    "read_launch_meta",
    "write_launch_meta",
]

LAUNCH_FILE: Final = "launch.json"
"""Beside a live recording: the META keys that the launcher adds (docs/trace-format.md)."""


def boot(
    board: Board,
    elf: Path,
    *,
    recorder: RecorderOptions = NO_OPTIONS,
    gdb_port: int | None = None,
    extra_args: Sequence[str] = (),
    others: Sequence[PlacedElf] = (),
    data_directory: Path | None = None,
    stdin: int | None = None,
    stdout: int = 1,
    quiet: bool = False,
) -> Emulator:
    """Start the board's QEMU with the program and the recorder (see `launch`).

    Args:
        others: ELF files that run beside the program; who has QEMU load them is `extra_args`.

    Raises:
        TargetError: QEMU is missing, or the program is no readable ELF file.
        NativeError: the plugin for this QEMU has not been built.
    """
    check_elf(elf, board)
    qemu = qemu_binary.find(board.qemu, user_mode=board.user_mode)
    if isinstance(board.vector_table, int) and not recorder.vectors:
        recorder = replace(recorder, vectors=board.vector_table)
    emulator = launch(
        qemu.path,
        [*qemu.arguments, *board.arguments(elf)],
        qemu.plugin,
        label=elf.stem,
        recorder=recorder,
        gdb_port=gdb_port,
        extra_args=extra_args,
        data_directory=data_directory,
        stdin=stdin,
        stdout=stdout,
        quiet=quiet,
        environment=qemu.environment,
        user_mode=board.user_mode,
    )
    try:
        write_launch_meta(
            emulator.directory, launch_meta(board, elf, qemu, emulator.command, others)
        )
    except OSError as error:
        emulator.close()
        raise TargetError(f"{error.filename}: cannot be written: {error.strerror}") from error
    return emulator


def boot_for_gdb(
    board: Board,
    elf: Path,
    *,
    extra_args: Sequence[str] = (),
    others: Sequence[PlacedElf] = (),
    stdin: int | None = None,
    stdout: int = 1,
    quiet: bool = False,
) -> Emulator:
    """Start the board's QEMU halted, with a GDB stub that listens.

    Raises:
        TargetError, NativeError: as `boot` and `Emulator.wait_ready`.
    """
    for tries_left in (2, 1, 0):
        emulator = boot(
            board,
            elf,
            gdb_port=free_port(),
            extra_args=extra_args,
            others=others,
            stdin=stdin,
            stdout=stdout,
            quiet=quiet,
        )
        try:
            emulator.wait_ready()
        except BaseException as error:
            emulator.close()
            # Somebody may take the port before QEMU does.
            taken = isinstance(error, TargetError) and "already in use" in str(error)
            if not taken or not tries_left:
                raise
        else:
            return emulator
    raise AssertionError


def attach_with_program(
    wanted: Attachment, board: Board, elf: Path, others: Sequence[PlacedElf] = ()
) -> AttachedQemu:
    """The recorder of a running QEMU, and beside its recording what is known of the program.

    Raises:
        ControlError, TargetError: as `attach`; or the program is no readable ELF file.
    """
    check_elf(elf, board)
    qemu = attach(wanted)
    try:
        write_launch_meta(qemu.directory, _program_meta(board, elf, others))
    except OSError as error:
        qemu.close()
        raise TargetError(f"{error.filename}: cannot be written: {error.strerror}") from error
    return qemu


def launch_meta(
    board: Board,
    elf: Path,
    qemu: QemuBinary,
    command: Sequence[str],
    others: Sequence[PlacedElf] = (),
) -> dict[str, Any]:
    """The META keys that say how QEMU was started."""
    started = {"qemu_version": qemu.version_text, "qemu_args": list(command[1:])}
    return {**started, **_program_meta(board, elf, others)}


def _program_meta(board: Board, elf: Path, others: Sequence[PlacedElf]) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "elf_path": str(elf.absolute()),
        "board": board.name,
        "cpu": board.cpu,
    }
    if others:
        meta["elf_others"] = [other.to_json() for other in others]
    if board.vector_table is not None:
        meta["vector_table"] = board.vector_table
    if board.task_names:
        meta["task_names"] = dict(board.task_names)
    return meta


def write_launch_meta(directory: Path, meta: dict[str, Any]) -> None:
    """Leave the META keys beside a live recording. Raises OSError."""
    (directory / LAUNCH_FILE).write_text(json.dumps(meta, indent=2) + "\n")


def read_launch_meta(directory: Path) -> dict[str, Any]:
    """The META keys left by the launcher; empty if QEMU was started by hand."""
    path = directory / LAUNCH_FILE
    try:
        meta = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise TargetError(f"{path}: cannot be read: {error}") from error
    if not isinstance(meta, dict):
        raise TargetError(f"{path}: is no JSON object")
    return meta


# QEMU's target name: (e_machine, bits) of the ELF files that run there; numbers of the gABI.
_ARM, _AARCH64, _RISCV, _386, _X86_64 = 40, 183, 243, 3, 62
_RUNS: dict[str, set[tuple[int, int]]] = {
    "arm": {(_ARM, 32)},
    "aarch64": {(_AARCH64, 64), (_ARM, 32)},
    "riscv32": {(_RISCV, 32)},
    "riscv64": {(_RISCV, 64)},
    "i386": {(_386, 32)},
    "x86_64": {(_X86_64, 64), (_386, 32)},
}
_NAMES = {_ARM: "Arm", _AARCH64: "AArch64", _RISCV: "RISC-V", _386: "x86", _X86_64: "x86-64"}


def check_elf(elf: Path, board: Board) -> None:
    """Raise TargetError if `elf` is no ELF file for the board: QEMU would run it as raw code."""
    try:
        with elf.open("rb") as file:
            header = file.read(20)
    except OSError as error:
        raise TargetError(f"{os.fspath(elf)}: cannot be read: {error.strerror}") from error
    if len(header) < 20 or header[:4] != b"\x7fELF":
        raise TargetError(f"{elf}: is no ELF file")
    bits = 64 if header[4] == 2 else 32
    machine = int.from_bytes(header[18:20], "big" if header[5] == 2 else "little")
    if board.user_mode:
        _check_static(elf)
    runs = _RUNS.get(board.target)
    if runs is not None and (machine, bits) not in runs:
        what = f"{_NAMES.get(machine, f'machine {machine}')}, {bits} bits"
        raise TargetError(f"{elf}: a program for {what}; board {board.name} is {board.target}")


def _check_static(elf: Path) -> None:
    """Raise TargetError if the program's code is not all in its file, at the addresses there."""
    # Late: nothing else here needs it.
    from elftools.common.exceptions import ELFError
    from elftools.construct import ConstructError
    from elftools.elf.elffile import ELFFile

    try:
        with elf.open("rb") as file:
            image = ELFFile(file)
            fixed = image["e_type"] == "ET_EXEC"
            interpreted = any(part["p_type"] == "PT_INTERP" for part in image.iter_segments())
    except (ELFError, ConstructError) as error:
        raise TargetError(f"{elf}: is no whole ELF file: {error}") from error
    if not fixed or interpreted:
        what = "loads shared libraries" if interpreted else "is position independent"
        raise TargetError(f"{elf}: {what}; link it with -static -no-pie to record it with --user")
