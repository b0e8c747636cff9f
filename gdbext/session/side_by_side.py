# SPDX-License-Identifier: GPL-2.0-or-later
"""Several cases at a time, each in a process of its own that ends when we are ended."""

from __future__ import annotations

import multiprocessing
import signal
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gdbext.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.context import ForkProcess
    from types import FrameType

__all__ = ["side_by_side"]

Work = TypeVar("Work")
Result = TypeVar("Result")

_END_TIMEOUT_S: Final = 20.0
"""For ending QEMU and GDB, both of which have limits of their own."""


def side_by_side(
    work: Sequence[Work], do: Callable[[Work], Result], jobs: int
) -> Iterator[Result | TargetError]:
    """Do each piece of work in a process; results in their order, as they come.

    A TargetError stands for the result of a process that was killed. Left early, by a signal or
    because nobody wants more, it ends the processes and waits for them.
    """
    # Nothing has started a thread yet, so that forking is safe, and quick.
    context = multiprocessing.get_context("fork")
    running: dict[Connection, tuple[int, ForkProcess]] = {}
    results: dict[int, Result | TargetError] = {}
    begun = told = 0
    try:
        while told < len(work):
            while begun < len(work) and len(running) < jobs:
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_serve, args=(work[begun], do, sender))
                process.start()
                sender.close()
                running[receiver] = begun, process
                begun += 1
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                number, process = running[ready]
                results[number] = _received(ready, process)
                process.join()
                ready.close()
                del running[ready]
            while told in results:
                yield results.pop(told)
                told += 1
    finally:
        for _, process in running.values():
            process.terminate()
        for receiver, (_, process) in running.items():
            process.join(_END_TIMEOUT_S)
            if process.is_alive():
                process.kill()
                process.join()
            receiver.close()


def _received(receiver: Connection, process: ForkProcess) -> Any:
    try:
        return receiver.recv()
    except EOFError:
        process.join()
        status = process.exitcode
        how = f"by signal {-status}" if status is not None and status < 0 else f"with {status}"
        return TargetError(f"the process that ran the session was ended {how}")


def _serve(piece: Work, do: Callable[[Work], Result], sender: Connection) -> None:
    """The process's work."""

    def leave(number: int, _frame: FrameType | None) -> None:
        # Ctrl-C in a terminal comes to us as well as the end that we are told: once is enough.
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
    result = do(piece)
    with suppress(BrokenPipeError):
        sender.send(result)
