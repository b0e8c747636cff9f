# SPDX-License-Identifier: GPL-2.0-or-later
"""record: run a program to its end in QEMU, without GDB, and record everything."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import termios
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gdbext import nativelib
from gdbext.commands._filter import FILTER_ARGUMENTS, FILTER_HELP, filter_of
from gdbext.commands._leftovers import tell_leftovers
from gdbext.commands._options import (
    BOARD_OR_USER,
    ELF_FILE,
    QEMU_ARGS,
    SYMBOLS,
    USER,
    count,
    seconds,
)
from gdbext.commands._saving import save
from gdbext.commands.registry import Argument, command
from gdbext.errors import ControlError, GdbextError, TargetError, UsageError
from gdbext.files import check_replaceable
from gdbext.recording.reader import Recording
from gdbext.render.numbers import amount, bytes_amount
from gdbext.target.boards import load_board, user_board
from gdbext.target.boot import boot
from gdbext.target.launch import RecorderOptions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from types import FrameType

    from gdbext.commands.context import Context
    from gdbext.target.boards import Board
    from gdbext.target.launch import Emulator

EXIT_TIMEOUT: Final = 124
EXIT_FAILURE: Final = 125

POLL_S: Final = 0.02
FINISH_TIMEOUT_S: Final = 60.0


@command(
    "record",
    "Run a program to its end in QEMU and record everything.",
    description=(
        "Semihosting and serial output pass through, and the guest's exit status is returned;\n"
        "124 means the time limit, 125 a failure of our own. Ctrl-C ends the run and keeps what\n"
        "was recorded. With --user it is a static Linux program of one thread; words after `--`\n"
        "are its arguments. An existing FILE is replaced only when the new one is complete.\n"
        f"{FILTER_HELP}"
    ),
    arguments=[
        ELF_FILE,
        BOARD_OR_USER,
        USER,
        SYMBOLS,
        Argument(
            "-o",
            "The recording to write.",
            metavar="FILE",
            parse=Path,
            required=True,
            completes="file",
        ),
        Argument("--timeout", "End the run after S seconds.", metavar="S", parse=seconds),
        Argument(
            "--insns",
            "End the run at the first block end at or after N instructions.",
            metavar="N",
            parse=count,
        ),
        Argument("--quiet", "Do not say what was recorded."),
        *FILTER_ARGUMENTS,
        QEMU_ARGS,
    ],
    doors=["cli"],
)
def record(context: Context, options: argparse.Namespace) -> int:
    """Run, record, save; returns the exit status for the shell."""
    output: Path = options.o
    # Without it nothing can be saved: find out now.
    nativelib.library()
    board = _board_of(options)
    _check_output(output, options.elf)
    wanted = filter_of(options, options.elf)
    tell_leftovers()
    # Beside the output: a recording may be larger than the runtime directory's file system.
    data = output.parent / f".{output.name[:40]}.{secrets.token_hex(3)}.live"
    with (
        _signals_as_interrupt() as interrupted,
        _restored_terminal(),
        boot(
            board,
            options.elf,
            recorder=RecorderOptions(
                record=True, insns=options.insns or 0, filter=wanted, ring=options.ring or 0
            ),
            extra_args=options.qemu_args,
            others=options.symbols,
            data_directory=data,
            stdin=_stdin(),
        ) as emulator,
    ):
        outcome = _Outcome()
        try:
            with interrupted.raised():
                _run(emulator, options, outcome)
        except KeyboardInterrupt:
            outcome.why = "interrupted"
            outcome.status = 128 + interrupted.signals[0]
        with _uninterrupted():
            _end(emulator, outcome)
            return _keep(emulator, output, outcome, quiet=options.quiet, user_mode=board.user_mode)


def _board_of(options: argparse.Namespace) -> Board:
    if (options.board is None) == (options.user is None):
        raise UsageError("give --board B, or --user QEMU for a single Linux program")
    return load_board(options.board) if options.user is None else user_board(options.user)


class _Outcome:
    """How the run ended."""

    def __init__(self) -> None:
        self.status: int | None = None
        """Exit status for the shell, where it is not the guest's."""
        self.why = ""
        """Why the run did not end by itself."""
        self.trouble = ""
        """What the recorder said when it failed."""


def _run(emulator: Emulator, options: argparse.Namespace, outcome: _Outcome) -> None:
    """Until QEMU ends, or a limit is reached."""
    started = time.monotonic()
    emulator.wait_ready()
    next_look = started
    while emulator.wait(POLL_S) is None:
        now = time.monotonic()
        if options.timeout and now - started >= options.timeout:
            outcome.why, outcome.status = f"time limit of {options.timeout:g} s", EXIT_TIMEOUT
            return
        if now < next_look:
            continue
        next_look = now + (POLL_S if options.insns else 0.5)
        # QEMU may end between two looks; the loop sees that next.
        with suppress(ControlError), emulator.control(5.0) as client:
            status = client.status()
            if status.state == "failed":
                outcome.trouble = status.message
            if options.insns and status.state == "limit":
                outcome.why, outcome.status = f"limit of {amount(options.insns)} instructions", 0
                return


def _end(emulator: Emulator, outcome: _Outcome) -> None:
    """Have the recorder finish the stream if it can, and end QEMU."""
    if emulator.poll() is not None:
        return
    try:
        with emulator.control(FINISH_TIMEOUT_S) as client:
            outcome.trouble = client.finish().message or outcome.trouble
    except ControlError as error:
        if emulator.poll() is None:
            _say(f"{error}; saving what is there")
    emulator.kill()
    emulator.wait()


def _keep(
    emulator: Emulator, output: Path, outcome: _Outcome, *, quiet: bool, user_mode: bool
) -> int:
    """Write the recording and say so; the exit status."""
    qemu_status = emulator.wait()
    assert qemu_status is not None
    started = (emulator.directory / "stream").exists()
    if not started or (qemu_status != 0 and outcome.status is None and _ran_nothing(emulator)):
        raise emulator.start_error()
    try:
        saved = save(emulator.directory, output)
    except GdbextError as error:
        emulator.keep_directory = True
        place = emulator.directory.resolve()
        raise TargetError(f"{error}; what was recorded is in {place}") from error
    if not quiet:
        why = f" ({outcome.why})" if outcome.why else ""
        _say(
            f"{output}: {amount(saved.n_insns)} instructions, {bytes_amount(saved.size_bytes)}{why}"
        )
    if outcome.trouble or (qemu_status >= 0 and not saved.finished):
        # QEMU may have ended before anybody asked; its stderr has said why.
        trouble = outcome.trouble or emulator.recorder_said()
        if not trouble:
            trouble = "the recorder stopped before the end"
            trouble += " (did the program replace itself, by execve?)" if user_mode else ""
        _say(f"{output}: the recording is incomplete: {trouble}")
        return EXIT_FAILURE
    if outcome.status is not None:
        return outcome.status
    if qemu_status < 0 and user_mode:
        _say(
            f"{output}: the program ended by signal {-qemu_status}; its last block counts as "
            "executed whole, though it may have been left before its end"
        )
        return 128 - qemu_status
    if qemu_status < 0:
        _say(f"{emulator.start_error()}; what was executed until then is kept")
        return EXIT_FAILURE
    return qemu_status


def _ran_nothing(emulator: Emulator) -> bool:
    """No block was even translated: QEMU gave up before the guest's first instruction."""
    with Recording.open(emulator.directory) as recording:
        # Entry 0 of the table stands for no block.
        return len(recording.blocks) <= 1


def _say(text: str) -> None:
    print(f"gdbext: {text}", file=sys.stderr)


def _check_output(output: Path, elf: Path) -> None:
    """Find out now, not after a long run, that the output cannot be written."""
    if output.is_dir():
        raise TargetError(f"{output}: is a directory; -o names a file")
    check_replaceable(output)
    if output.exists() and elf.exists() and output.samefile(elf):
        raise TargetError(f"{output}: is the program itself; -o names another file")
    if not output.parent.is_dir():
        raise TargetError(f"{output.parent}: no such directory; make it first")
    if not os.access(output.parent, os.W_OK | os.X_OK):
        raise TargetError(f"{output.parent}: cannot be written; choose another place for -o")


def _stdin() -> int | None:
    """Our standard input for QEMU; not a terminal that we are in the background of.

    QEMU changes the terminal's modes, and from its own session nothing would stop it.
    """
    try:
        if os.isatty(0) and os.tcgetpgrp(0) != os.getpgrp():
            return None
        os.fstat(0)
    except OSError:
        return None
    return 0


@contextmanager
def _restored_terminal() -> Iterator[None]:
    """Set the terminal's modes back afterwards: a killed QEMU does not."""
    try:
        modes: list[Any] | None = termios.tcgetattr(0)
    except (termios.error, ValueError):
        modes = None
    try:
        yield
    finally:
        if modes is not None and _stdin() is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, modes)


class _Interruptions:
    """Signals that ask for the end of the run, and whether they may break in on us now."""

    def __init__(self) -> None:
        self.signals: list[int] = []
        self._raise = False

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """The signal handler."""
        self.signals.append(number)
        if self._raise:
            raise KeyboardInterrupt

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Raise KeyboardInterrupt for a signal that comes in here, or came before."""
        try:
            self._raise = True
            if self.signals:
                raise KeyboardInterrupt
            yield
        finally:
            self._raise = False


@contextmanager
def _signals_as_interrupt() -> Iterator[_Interruptions]:
    """SIGTERM and SIGHUP end the run as Ctrl-C does.

    While QEMU is being started they wait: it may record already, and nothing is to be lost.
    """
    interruptions = _Interruptions()
    watched = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, interruptions.handle) for number in watched}
    try:
        yield interruptions
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Saving is not given up for a second Ctrl-C: it would lose the run."""
    watched = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in watched}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
