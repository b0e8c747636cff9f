# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions about a recording for people's own Python: scripts in GDB, and programs outside it.

    from gdbext import api

    with api.open("app.rec", elf="app.elf") as trace:
        print(trace.calls("malloc"), trace.covered("parse"))

docs/api.md has examples, which are run as tests. What is not in `__all__` may change.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from gdbext.errors import ControlError, GdbextError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from gdbext.analyses.callees import CalleesReport
    from gdbext.analyses.callers import CallersReport
    from gdbext.analyses.functions import FunctionReport
    from gdbext.analyses.interrupts import InterruptsReport
    from gdbext.analyses.places import TailRun
    from gdbext.analyses.profile import Profile
    from gdbext.analyses.summary import Summary
    from gdbext.analyses.tail import TailInsn
    from gdbext.analyses.tasks import TasksReport
    from gdbext.analyses.timeline import Slice
    from gdbext.analyses.tree import CallTree
    from gdbext.analyses.workspace import Workspace
    from gdbext.coverage.model import Coverage

__all__ = ["GdbextError", "Trace", "open", "session"]


def open(  # noqa: A001
    recording: str | Path, elf: str | Path | None = None
) -> Trace:
    """Open a saved recording, or the live directory of a QEMU that records or has recorded.

    Args:
        elf: the program that ran; None: the file that the recording names.

    Raises:
        GdbextError: the recording or the program cannot be read, or do not belong together.
    """
    # Only now: a script in GDB may never need it.
    from gdbext.commands.context import open_workspace

    path = Path(recording)
    workspace = open_workspace(path, None if elf is None else Path(elf))
    workspace.refresh()
    return Trace(lambda: _refreshed(workspace, path) if path.is_dir() else workspace)


def session() -> Trace:
    """In GDB: the recording in work, the live one or what `trace load` opened.

    Raises:
        GdbextError: this is no GDB with the `trace` commands.
    """
    if _Session.workspace is None:
        raise UsageError(
            "there is no session here: in GDB load the `trace` commands first; outside GDB use "
            "api.open(RECORDING)"
        )
    return Trace(_Session.workspace)


class Trace:
    """One recording. Each question about a live one is answered as of the moment it is asked.

    Functions are named as in the commands: NAME, FILE:NAME or 0xADDRESS. Every method raises
    GdbextError where there is no answer; its text is one line. Results are dataclasses; their
    `to_json()` gives what the command of that name prints with --json (docs/json.md).
    """

    def __init__(self, workspace: Callable[[], Workspace]) -> None:
        """Use `open` or `session`."""
        self._workspace = workspace

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """No more questions; a session's recording stays open for its commands."""
        if self._workspace is not _Session.workspace and self._workspace is not _closed:
            self._workspace().recording.close()
        self._workspace = _closed

    @property
    def elf(self) -> Path:
        """The program's ELF file."""
        return self._workspace().symbols.path

    # Single numbers, quick enough to be asked at every stop.

    @property
    def instructions(self) -> int:
        """Instructions executed, all vCPUs."""
        return self._workspace().counters.instructions()

    def calls(self, function: str) -> int:
        """Times that a function was called."""
        return self._workspace().counters.calls(function)

    def covered(self, function: str) -> float:
        """Percentage of a function's instructions that were executed."""
        return self._workspace().counters.covered(function)

    def irqs(self, handler: str) -> int:
        """Times that a handler was entered: a function, or an entry of the vector table."""
        return self._workspace().counters.irqs(handler)

    # Reports.

    def summary(self) -> Summary:
        """Totals, and all functions with their calls and instructions: `analyze`."""
        return self._workspace().summary()

    def function(self, name: str) -> FunctionReport:
        """All about one function: `analyze --function`."""
        return self._workspace().function(name)

    def callers(self, function: str) -> CallersReport:
        """Who called a function, from where, how often."""
        return self._workspace().callers(function)

    def callees(self, function: str) -> CalleesReport:
        """What a function called."""
        return self._workspace().callees(function)

    def tree(
        self,
        function: str | None = None,
        *,
        depth: int | None = None,
        min_percent: float = 0.0,
        top: int | None = None,
        inlined: bool = True,
    ) -> CallTree:
        """The tree of calls, or what ran below one function.

        Args:
            depth: levels below the roots, which have 1; None: all.
            min_percent: nodes with less than this part of all instructions are left out.
            top: only so many nodes; None: all.
            inlined: functions that the compiler inlined have nodes of their own.
        """
        from gdbext.analyses.tree import Pruning

        pruning = Pruning(depth, min_percent, top)
        return self._workspace().tree(function, pruning, inlined=inlined)

    def profile(self, *, inlined: bool = True) -> Profile:
        """Where instructions were spent: in all, by task and by handler."""
        return self._workspace().profile(inlined=inlined)

    def interrupts(self) -> InterruptsReport:
        """Handlers of interrupts and exceptions that ran."""
        return self._workspace().interrupts()

    def tasks(self) -> TasksReport:
        """Tasks that ran."""
        return self._workspace().tasks()

    def coverage(
        self,
        name: str | None = None,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        everything: bool = False,
    ) -> Coverage:
        """What ran of the program, of one function or of one source file.

        Args:
            include: only source files of these patterns; exclude: none of these.
            everything: compilers' and libraries' files too.
        """
        from gdbext.coverage.filters import FileFilter
        from gdbext.coverage.measure import Settings

        files = FileFilter(tuple(include), tuple(exclude), everything=everything)
        return self._workspace().coverage(Settings(files), name)

    def last(self, n: int = 20) -> list[TailInsn]:
        """The last instructions of each vCPU, newest first."""
        return self._workspace().last_insns(n)

    def last_calls(self, n: int = 20) -> list[TailRun]:
        """The last stays in functions of each vCPU, newest first."""
        return self._workspace().last_calls(n)

    def timeline(
        self,
        start: int = 0,
        end: int | None = None,
        *,
        depth: int | None = None,
        min_insns: int = 0,
    ) -> Iterator[Slice]:
        """Calls, handlers and tasks one by one, in the order of their ends.

        Args:
            start: first instruction of the window, counted by vCPU; end: after its last one.
            depth: deeper calls are left out.
            min_insns: shorter ones are left out.
        """
        from gdbext.replay.slices import SliceWindow

        window = SliceWindow(start, end, min_insns, depth)
        return self._workspace().timeline(window).slices()


def use_session(workspace: Callable[[], Workspace]) -> None:
    """For GDB's door: what `session` works on; it is called for each question."""
    _Session.workspace = staticmethod(workspace)


class _Session:
    """The one session of this process."""

    workspace: Callable[[], Workspace] | None = None


def _refreshed(workspace: Workspace, live: Path) -> Workspace:
    """A live recording brought up to date."""
    from gdbext.target.control import ControlClient

    try:
        with ControlClient(live / "control") as client:
            client.sync()
    except ControlError:
        # QEMU has ended: what it left is all there is.
        pass
    workspace.refresh()
    return workspace


def _closed() -> Workspace:
    raise UsageError("this trace was closed")
