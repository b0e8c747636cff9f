# SPDX-License-Identifier: GPL-2.0-or-later
"""Goes through a recording with the C library, a slice at a time, and keeps what it found.

A live recording is replayed further by each `update`; what was replayed before stays.
"""

from __future__ import annotations

import ctypes
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from gdbext.errors import NativeError, TraceFormatError
from gdbext.replay.calls import CallTables, Cost, HandlerRow, NodeKind, TaskRow, TreeRow
from gdbext.replay.classify import Classifier
from gdbext.replay.library import (
    CCost,
    CEdge,
    CHandler,
    CNode,
    CStats,
    CTask,
    CTrap,
    replay_library,
)
from gdbext.replay.pointwise import Pointwise
from gdbext.replay.tables import Edge, Stats, Tables, Trap, TrapSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gdbext.recording.reader import ChunkData, Recording
    from gdbext.replay.functions import FunctionNumbers

__all__ = ["Replay", "SecondReplay"]

SLICE_BLOCKS = 20_000_000
EDGE_RESTART = 4
# GX_PROFILE_* in qemu-plugin/replay.h.
PROFILE_OTHER, PROFILE_M, PROFILE_AARCH64, PROFILE_A32, PROFILE_X86 = range(5)

# They leave the function that called them, for an outer one's landing pad (Itanium C++ ABI, EHABI).
_RESUMERS: Final = frozenset(
    {"_Unwind_Resume", "_Unwind_Resume_or_Rethrow", "__cxa_end_cleanup", "__cxa_rethrow"}
)


class Replay:
    """Counts of one recording, up to the last `update`.

    Attributes:
        recording: what is replayed.
        classes: how each block ends.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        mode_at: Callable[[int], str | None] | None = None,
        m_profile: bool | None = None,
        vectors: Mapping[int, int] | None = None,
        resets: Iterable[int] = (),
        functions: FunctionNumbers | None = None,
        classes: Classifier | None = None,
    ) -> None:
        """Nothing is replayed yet.

        Args:
            mode_at: for 32-bit Arm, what mapping symbols say of an address.
            m_profile: whether 32-bit Arm code is M-profile; None: as the code tells.
            vectors: addresses of trap handlers, from the vector table (without Thumb bit), with
                NodeKind.INTERRUPT or EXCEPTION, or 0 where that is not known.
            resets: addresses where the machine begins after a reset.
            functions: None: calls are not followed into functions, the tree has one node.
            classes: what another replay of the recording has found; `mode_at` and `m_profile`
                are not asked then.
        """
        self.recording = recording
        target = str(recording.meta.get("target", ""))
        self._has_events = "discontinuity" in recording.meta.get("features", ())
        self._vectors = dict(vectors or {})
        self._functions = functions
        self._resets = set(resets)
        self._set_jumps: set[int] = set()
        user_mode = recording.meta.get("user_mode") is True
        if user_mode:
            m_profile = False
        self.classes = classes or Classifier(target, mode_at, m_profile, user_mode=user_mode)
        self._lib = replay_library()
        self._handle: int | None = None
        self._chunks_done = 0
        self._blocks_done = 1
        self._vcpus: set[int] = set()
        self._tables: Tables | None = None
        self._calls: CallTables | None = None

    def __del__(self) -> None:
        self._free()

    def update(self, progress: Callable[[float], None] | None = None) -> None:
        """Replay what is new. Ctrl-C leaves it where it is; the next call goes on from there.

        Args:
            progress: called now and then with the part that is done, 0 to 1.

        Raises:
            TraceFormatError: the recording is damaged.
        """
        if self.recording.refresh():
            self._free()
        self._replay_new(progress)
        if self._stats().late:
            # Edges were counted before their ends were known as handlers: once more, knowing.
            self._vectors.update(dict.fromkeys(self._learned() - self._vectors.keys(), 0))
            self._set_jumps |= self._addresses(self._lib.gx_replay_set_jumps)
            self._free()
            self._replay_new(progress)

    def tables(self) -> Tables:
        """What was found up to the last `update`."""
        if self._tables is None:
            self._tables = self._read_tables()
        return self._tables

    def calls(self) -> CallTables:
        """The tree of calls, handlers and tasks up to the last `update`."""
        if self._calls is None:
            self._calls = self._read_calls()
        return self._calls

    def pointwise(self) -> Pointwise:
        """Results one by one, without the tables, up to the last `update`."""
        return Pointwise(self._lib, self._open(), self._blocks_done, tuple(sorted(self._vcpus)))

    @property
    def handlers(self) -> set[int]:
        """Addresses of trap handlers: given, and learned up to the last `update`."""
        return self._vectors.keys() | self._learned()

    def set_functions(self, functions: FunctionNumbers) -> None:
        """Other functions: the next `update` replays everything again."""
        self._functions = functions
        self._free()

    def _replay_new(self, progress: Callable[[float], None] | None) -> None:
        handle = self._open()
        self._tables = self._calls = None
        self._add_blocks(handle)
        todo = len(self.recording.chunks) - self._chunks_done + len(self.recording.partial)
        for done, data in enumerate(self.recording.data(self._chunks_done)):
            if progress is not None:
                progress(done / max(todo, 1))
            self._feed(handle, data)
            if data.complete:
                self._chunks_done += 1
        if progress is not None:
            progress(1.0)

    def _feed(self, handle: int, data: ChunkData) -> None:
        """One chunk, or more of one."""
        self._add_vcpu(handle, data.vcpu)
        while self._feed_some(handle, data, SLICE_BLOCKS):
            pass

    def _feed_some(self, handle: int, data: ChunkData, n_blocks: int) -> bool:
        """At most so many blocks of one chunk; whether there are more.

        Raises:
            TraceFormatError: the chunk is damaged.
        """
        result = self._lib.gx_replay_feed(
            handle, data.vcpu, data.seq, data.raw, len(data.raw), data.run, n_blocks
        )
        if result < 0:
            reason = (self._lib.gx_replay_error(handle) or b"damaged").decode()
            offset = int(self._lib.gx_replay_error_offset(handle))
            raise TraceFormatError(
                f"{self.recording.path}: vCPU {data.vcpu} chunk {data.seq}: "
                f"offset {offset:#x} of the tokens: {reason}"
            )
        if result == 0:
            self._lib.gx_replay_provisional(handle, data.vcpu, data.cut)
        return bool(result)

    def _add_vcpu(self, handle: int, vcpu: int) -> None:
        if vcpu not in self._vcpus:
            if self._lib.gx_replay_add_vcpu(handle, vcpu):
                raise TraceFormatError(f"{self.recording.path}: vCPU {vcpu} is out of range")
            self._vcpus.add(vcpu)

    def _open(self) -> int:
        if self._handle is None:
            handle = self._lib.gx_replay_new(self._has_events, self._profile())
            if not handle:
                raise NativeError("no memory for the replay")
            self._handle = int(handle)
            for address, kind in self._vectors.items():
                self._lib.gx_replay_add_vector(self._handle, address, kind)
                number = self._functions.beginning_at(address) if self._functions else 0
                if number:
                    self._lib.gx_replay_add_handler_function(self._handle, number, address)
            for number in self._functions.named(_RESUMERS) if self._functions else ():
                self._lib.gx_replay_add_resumer(self._handle, number)
            for address in self._resets:
                self._lib.gx_replay_add_reset(self._handle, address)
            for address in self._set_jumps:
                self._lib.gx_replay_add_set_jump(self._handle, address)
        return self._handle

    def _profile(self) -> int:
        target = self.recording.meta.get("target")
        if target == "aarch64":
            return PROFILE_AARCH64
        if self.classes.is_m_profile:
            return PROFILE_M
        if target in ("i386", "x86_64"):
            return PROFILE_X86
        return PROFILE_A32 if target == "arm" else PROFILE_OTHER

    def _free(self) -> None:
        handle: int | None = getattr(self, "_handle", None)
        if handle is not None:
            self._lib.gx_replay_free(handle)
        self._handle = None
        self._chunks_done = 0
        self._blocks_done = 1
        self._vcpus = set()
        self._tables = self._calls = None

    def _add_blocks(self, handle: int) -> None:
        blocks = self.recording.blocks
        first, end = self._blocks_done, len(blocks)
        if first == end:
            return
        self.classes.update(blocks)
        entries = blocks.entries(first, end)
        kinds = bytes(self.classes.end_kind[first:end])
        flags = bytes(self.classes.flags[first:end])
        targets = self.classes.target[first:end].tobytes()
        starts = ends = entered = None
        if self._functions is not None:
            numbers = self._functions.of_blocks(blocks, first)
            starts, ends, entered = numbers[0].tobytes(), numbers[1].tobytes(), numbers[2]
        result = self._lib.gx_replay_add_blocks(
            handle,
            entries,
            len(entries),
            end - first,
            kinds,
            flags,
            targets,
            starts,
            ends,
            entered,
        )
        if result:
            raise TraceFormatError(f"{self.recording.path}: block table is damaged")
        self._blocks_done = end

    def _settle(self, handle: int) -> None:
        """What is still open counts as it is now."""
        self._lib.gx_replay_settle(handle)

    def _read_calls(self) -> CallTables:
        handle = self._open()
        lib = self._lib
        self._settle(handle)
        deepest, cut = ctypes.c_uint32(), ctypes.c_uint64()
        lib.gx_replay_tree_info(handle, ctypes.byref(deepest), ctypes.byref(cut))
        n_functions = len(self._functions) if self._functions is not None else 1
        costs = (CCost * n_functions)()
        if lib.gx_replay_costs(handle, costs, n_functions):
            raise NativeError("no memory for the costs of functions")
        return CallTables(
            nodes=self._read_nodes(handle),
            costs=[Cost(c.calls, c.self, c.inclusive) for c in costs],
            handlers=[_row(HandlerRow, h) for h in self._copy(lib.gx_replay_handlers, CHandler)],
            tasks=[
                TaskRow(
                    t.vcpu,
                    t.entry_fn,
                    t.switches_in,
                    t.self,
                    t.longest_run,
                    t.stack if t.has_stack else None,
                )
                for t in self._copy(lib.gx_replay_tasks, CTask)
            ],
            deepest=deepest.value,
            cut_calls=cut.value,
        )

    def _read_nodes(self, handle: int) -> list[TreeRow]:
        """The tree. There may be a million nodes, so no object is made for each but its row."""
        n = int(self._lib.gx_replay_nodes(handle, None, 0))
        out = (CNode * n)()
        self._lib.gx_replay_nodes(handle, out, n)
        raw = memoryview(out).cast("B")
        words, numbers = raw.cast("I"), raw.cast("Q")
        size = ctypes.sizeof(CNode)

        def column(field: str) -> memoryview:
            place: int = getattr(CNode, field).offset
            of = words if getattr(CNode, field).size == words.itemsize else numbers
            return of[place // of.itemsize :: size // of.itemsize]

        kinds = map(list(NodeKind).__getitem__, column("kind"))
        rest = map(column, ("depth", "calls", "self", "inclusive"))
        return list(
            map(TreeRow._make, zip(column("parent"), column("fn"), kinds, *rest, strict=True))
        )

    def _stats(self) -> Stats:
        raw = CStats()
        self._lib.gx_replay_stats(self._open(), ctypes.byref(raw))
        return Stats(**{field.name: getattr(raw, field.name) for field in fields(Stats)})

    def _learned(self) -> set[int]:
        return self._addresses(self._lib.gx_replay_vectors)

    def _addresses(self, function: Any) -> set[int]:
        handle = self._open()
        n = int(function(handle, None, 0))
        out = (ctypes.c_uint64 * max(n, 1))()
        function(handle, out, n)
        return set(out[:n])

    def _copy(self, function: Any, kind: Any) -> list[Any]:
        """A table of the C library as a list of its structures."""
        handle = self._open()
        n = int(function(handle, None, 0))
        out = (kind * max(n, 1))()
        function(handle, out, n)
        return list(out[:n])

    def _read_tables(self) -> Tables:
        lib = self._lib
        now = self.pointwise()
        totals = now.totals()
        other, continued = now.arrivals()
        edges = self._copy(lib.gx_replay_edges, CEdge)
        traps = self._copy(lib.gx_replay_traps, CTrap)
        return Tables(
            n_insns={vcpu: insns for vcpu, (insns, _) in totals.items()},
            n_blocks={vcpu: blocks for vcpu, (_, blocks) in totals.items()},
            executions=now.executions(),
            other_arrivals=other,
            continued=continued,
            edges=[
                Edge(e.from_, e.to, e.count, e.recovered) for e in edges if e.count or e.recovered
            ],
            cuts=now.cuts(),
            traps=[
                Trap(t.from_, t.begun, t.to, TrapSource(t.source), t.count, t.tail_chained)
                for t in traps
                if t.count
            ],
            stats=self._stats(),
            restarted=_restarted(edges),
        )


def _row(kind: Any, structure: Any) -> Any:
    """A named tuple with the structure's fields, in their order."""
    return kind(*(getattr(structure, name) for name, *_ in structure._fields_))


def _restarted(edges: list[Any]) -> dict[int, int]:
    """How often QEMU began the last instruction of a block again, by block id."""
    result: dict[int, int] = {}
    for edge in edges:
        if edge.flags & EDGE_RESTART:
            result[edge.from_] = result.get(edge.from_, 0) + edge.count
    return result


class SecondReplay(Replay):
    """Replays what another replay has gone through, for what that one did not keep."""

    def __init__(self, parent: Replay) -> None:
        """Nothing is replayed yet.

        Args:
            parent: has been brought up to date.
        """
        super().__init__(
            parent.recording,
            vectors=parent._vectors,
            resets=parent._resets,
            functions=parent._functions,
            classes=parent.classes,
        )
        self._set_jumps = parent._set_jumps
