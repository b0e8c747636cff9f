# SPDX-License-Identifier: GPL-2.0-or-later
"""The run as slices: calls, handlers and tasks one by one, in the order of their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gdbext.analyses.refs import FunctionRef, function_ref
from gdbext.analyses.repairs import repairs_of
from gdbext.analyses.tasks import task_names
from gdbext.replay.slices import SliceFlag, SliceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gdbext.analyses.program import Program
    from gdbext.replay.slices import SliceReplay, SliceRow, SliceTotals, SliceWindow

__all__ = ["Slice", "Timeline"]

_KINDS: Final = {kind.value: kind.name.lower() for kind in SliceKind}


class Slice(NamedTuple):
    """One activation of a function; a tuple because there are millions.

    Its track, in which slices nest properly, is (vcpu, task, level); `run` has one of its own for
    each vCPU. `start` and `end` are instructions of the vCPU, counted from 0 at the beginning of
    the recording: [start, end). What of these is not in `inclusive_insns` ran in handlers and
    other tasks.
    """

    kind: str
    """`call`, `tail`, `task`, `interrupt`, `exception`, `trap`, or `run`: between two switches."""
    function: FunctionRef
    vcpu: int
    task: str | None
    """Name of the task; None in a handler."""
    level: int
    """0 in a task; in a handler, how deep handlers were nested."""
    depth: int
    """1 is the outermost in its track."""
    start: int
    end: int
    self_insns: int
    """0 for `run`: they are counted in the task's other slices."""
    inclusive_insns: int
    open_start: bool
    """It was open before `start`: when the recording or the window began."""
    open_end: bool
    """It was open after `end`, or nothing is known of its end (a gap, a stop, a reset)."""

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return {**self._asdict(), "function": self.function.to_json()}


class Timeline:
    """The slices of one window of a recording."""

    def __init__(
        self,
        program: Program,
        replay: SliceReplay,
        window: SliceWindow,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """Nothing is read yet.

        Args:
            replay: fresh; it is used up by `slices`.
        """
        self.window = window
        self.instructions = dict(program.tables.n_insns)
        """Of the whole recording, by vCPU."""
        self.repairs = repairs_of(program)
        self._program = program
        self._replay = replay
        self._progress = progress
        self._tasks = task_names(program)
        self._functions: dict[tuple[int, int], FunctionRef] = {}

    def slices(self) -> Iterator[Slice]:
        """Yield them, once, in the order of their ends: a slice comes after those inside it.

        With `longest`, in order of their starts.

        Raises:
            TraceFormatError: the recording is damaged.
        """
        rows = self._replay.slices(self.window, self._progress)
        if self.window.longest is None:
            return map(self._slice, rows)
        return map(self._slice, sorted(rows, key=lambda row: (row.vcpu, row.start, row.depth)))

    def left_out(self) -> SliceTotals:
        """How many slices of the window were not given, after `slices`."""
        return self._replay.totals()

    def _slice(self, row: SliceRow) -> Slice:
        level = row.level
        return Slice(
            _KINDS[row.kind],
            self._function(row),
            row.vcpu,
            None if level else self._tasks.get((row.vcpu, row.task)),
            level,
            row.depth,
            row.start,
            row.end,
            row.self_insns,
            row.inclusive_insns,
            bool(row.flags & SliceFlag.OPEN_START),
            bool(row.flags & SliceFlag.OPEN_END),
        )

    def _function(self, row: SliceRow) -> FunctionRef:
        # Code without a name is told apart by where it was entered.
        key = (row.function, 0 if row.function else row.address)
        found = self._functions.get(key)
        if found is None:
            function = self._program.numbers.functions[row.function]
            found = function_ref(self._program.symbols, function, row.address)
            self._functions[key] = found
        return found
