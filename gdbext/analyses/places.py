# SPDX-License-Identifier: GPL-2.0-or-later
"""Where instructions near the end of a recording stand: depth of calls, task, handler."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from gdbext.analyses.refs import numbered
from gdbext.analyses.tasks import task_names
from gdbext.replay.slices import SliceFlag, SliceKind, SliceReplay, SliceWindow

if TYPE_CHECKING:
    from gdbext.analyses.program import Program
    from gdbext.replay.replay import Replay
    from gdbext.replay.slices import SliceRow

__all__ = ["Pieces", "Place", "TailRun", "place_json"]

CHUNKS: Final = 8
"""Of a long recording, so many chunks (1 MiB each) are replayed for the places at its end."""


@dataclass(frozen=True)
class Place:
    """Where an instruction stands.

    Attributes:
        depth: calls that were open, with the one that runs; 1 is the outermost in its task or
            handler. It counts from the outermost that is known, see `relative`.
        relative: what is outermost was open before the part of the recording that was replayed.
        level: 0 in a task; in a handler, how deep handlers were nested.
        handler: function that the handler began with; None in a task.
        handler_kind: `interrupt`, `exception` or `trap` (one of the two); None in a task.
        task: name of the task; None in a handler.
        entered: how the activation began, if it began here: a kind of `timeline`.
    """

    depth: int
    relative: bool
    level: int
    handler: str | None
    handler_kind: str | None
    task: str | None
    entered: str | None


def place_json(place: dict[str, Any] | None) -> dict[str, Any]:
    """A place's fields; all None where it is not known."""
    return place or dict.fromkeys(each.name for each in fields(Place))


@dataclass(frozen=True)
class TailRun:
    """Instructions executed one after the other in one line, or in one activation of a function.

    `times` above 1: from here on, the last `round_insns` instructions ran so often in turn; the
    ones not listed are not in `n_insns`.
    """

    address: int
    """Of the first instruction."""
    function: str | None
    file: str | None
    line: int | None
    n_insns: int
    vcpu: int
    place: Place | None = None
    times: int = 1
    round_insns: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields by name, those of `place` among them."""
        own = asdict(self)
        return {**own, **place_json(own.pop("place"))}


class Pieces:
    """The last stays of one vCPU in an activation, each from a call, return, trap or switch to
    the next."""

    def __init__(self, program: Program, parent: Replay, vcpu: int, n: int) -> None:
        """Replay the end of the recording.

        Args:
            parent: brought up to date.
            n: pieces that are kept; so many instructions can be asked about, too.
        """
        chunks = parent.recording.chunks
        own = [number for number, chunk in enumerate(chunks) if chunk.vcpu == vcpu]
        first = own[-CHUNKS] if len(own) > CHUNKS else 0
        replay = SliceReplay(parent, first, vcpu)
        rows = replay.slices(SliceWindow(longest=n, pieces=True))
        self._rows = sorted(rows, key=lambda row: row.start)
        self._starts = [row.start for row in self._rows]
        self._end = replay.insns().get(vcpu, 0)
        self._program = program
        self._vcpu = vcpu
        self._tasks = task_names(program)
        # A return above what was known makes all that ran before deeper.
        self._above: dict[tuple[int, int], int] = {}
        for row in self._rows:
            track = (row.task, row.level)
            self._above[track] = max(self._above.get(track, 0), row.above)
        self._is_part = first > 0

    def place_of(self, after: int) -> Place | None:
        """Place of the instruction that `after` others followed; None where that is not known."""
        number = self._end - 1 - after
        at = bisect_right(self._starts, number) - 1
        if at < 0 or number >= self._rows[at].end:
            return None
        row = self._rows[at]
        place = self._place(row)
        return place if number == row.start else replace(place, entered=None)

    def last(self, n: int) -> list[TailRun]:
        """The newest first."""
        return [self._run(row) for row in reversed(self._rows[-n:])]

    def _run(self, row: SliceRow) -> TailRun:
        symbols = self._program.symbols
        function = self._program.numbers.functions[row.function]
        where = symbols.line_at(row.address)
        return TailRun(
            address=row.address,
            function=function.name if function else None,
            file=where.file if where else None,
            line=where.line if where else None,
            n_insns=row.self_insns,
            vcpu=self._vcpu,
            place=self._place(row),
        )

    def _place(self, row: SliceRow) -> Place:
        above = self._above[row.task, row.level]
        handler = numbered(self._program, row.root_function).name if row.level else None
        return Place(
            depth=row.depth + above - row.above,
            relative=self._is_part or above > 0,
            level=row.level,
            handler=handler,
            handler_kind=SliceKind(row.root_kind).name.lower() if row.level else None,
            task=None if row.level else self._tasks.get((self._vcpu, row.task)),
            entered=SliceKind(row.kind).name.lower() if row.flags & SliceFlag.FIRST else None,
        )
