# SPDX-License-Identifier: GPL-2.0-or-later
"""A progress bar on stderr, where that is a terminal and it takes long enough to matter."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["progress_bar"]

DELAY_S: Final = 0.5


@contextmanager
def progress_bar(text: str = "replaying") -> Iterator[Callable[[float], None] | None]:
    """Yield a function of the part done, 0 to 1, that draws; None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    # Only now: importing rich costs more than a small recording's replay.
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(text, total=1.0)
    started = time.monotonic()
    shown = False

    def advance(done: float) -> None:
        nonlocal shown
        if not shown and time.monotonic() - started > DELAY_S:
            bar.start()
            shown = True
        if shown:
            bar.update(task, completed=done)

    try:
        yield advance
    finally:
        if shown:
            bar.stop()
