# SPDX-License-Identifier: GPL-2.0-or-later
"""One recording with its program, and the answers about it; a live one grows between questions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdbext.analyses.branches import BranchesReport, report_branches
from gdbext.analyses.callees import CalleesReport, report_callees
from gdbext.analyses.callers import CallersReport, report_callers
from gdbext.analyses.counters import Counters
from gdbext.analyses.filtered import filtered_of
from gdbext.analyses.functions import FunctionReport, report_function
from gdbext.analyses.graph import CallGraph, report_graph
from gdbext.analyses.inlined import with_inlined
from gdbext.analyses.interrupts import InterruptsReport, report_interrupts
from gdbext.analyses.listing import SourceListing, list_source
from gdbext.analyses.places import Pieces
from gdbext.analyses.profile import Profile, report_profile
from gdbext.analyses.program import Program, changed_blocks, found_calls
from gdbext.analyses.summary import Summary, summarize
from gdbext.analyses.tail import last_insns
from gdbext.analyses.tasks import TasksReport, report_tasks
from gdbext.analyses.timeline import Timeline
from gdbext.analyses.tree import CallTree, Pruning, report_tree
from gdbext.coverage.measure import Settings, measure
from gdbext.errors import SymbolError, TraceFormatError, UsageError
from gdbext.placed import PlacedElf
from gdbext.recording.reader import Recording
from gdbext.replay.branchlog import LogTotals, write_branch_log
from gdbext.replay.calls import NodeKind
from gdbext.replay.functions import FunctionNumbers
from gdbext.replay.inlines import InlineChains, InlineReplay
from gdbext.replay.paths import PathReplay
from gdbext.replay.replay import Replay
from gdbext.replay.slices import SliceReplay
from gdbext.symbols import Symbols

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdbext.analyses.filtered import Filtered
    from gdbext.analyses.places import TailRun
    from gdbext.analyses.tail import TailInsn
    from gdbext.coverage.decisions.model import ConditionsReport
    from gdbext.coverage.execution import Execution
    from gdbext.coverage.model import Coverage
    from gdbext.replay.calls import CallTables
    from gdbext.replay.slices import SliceWindow
    from gdbext.symbols import Function
    from gdbext.symbols.model import Vector

__all__ = ["Workspace"]

# QEMU's target name -> machines of ELF files that run there.
MACHINES = {
    "arm": ("arm",),
    "aarch64": ("aarch64", "arm"),
    "riscv32": ("riscv",),
    "riscv64": ("riscv",),
    "i386": ("x86",),
    "x86_64": ("x86_64", "x86"),
}


# M-profile exception numbers: reset, and those that instructions raise themselves.
RESET = 1
EXCEPTIONS = frozenset({3, 4, 5, 6, 7, 11, 12})


class Workspace:
    """Answers questions about one recording, as of the last `refresh`."""

    def __init__(
        self,
        recording: Path,
        elf: Path | None,
        progress: Callable[[float], None] | None = None,
        meta: dict[str, Any] | None = None,
        others: Sequence[PlacedElf] = (),
    ) -> None:
        """Open a recording (file or live directory) and the program that ran.

        Args:
            elf: None takes the file that the recording names.
            progress: told the part of a replay that is done, 0 to 1.
            meta: what the launcher knows of a live recording that the recorder does not.
            others: ELF files that ran beside the program; none takes those the recording names.

        Raises:
            TraceFormatError: the recording cannot be read.
            SymbolError: the ELF file cannot be read, or is for another machine.
            UsageError: no ELF file is named, or the one named is gone.
        """
        self.recording = Recording.open(recording)
        self.meta = {**(meta or {}), **self.recording.meta}
        self.symbols = Symbols.open(
            elf or self._elf_of_recording(), others=others or self._others_of_recording()
        )
        self._progress = progress
        self._check_machine()
        vectors, resets = self._vectors()
        self._numbers = FunctionNumbers(self.symbols)
        self._replay = Replay(
            self.recording,
            mode_at=self.symbols.mode_at,
            m_profile=self.symbols.m_profile,
            vectors=vectors,
            resets=resets,
            functions=self._numbers,
        )
        self._changed: frozenset[int] = frozenset()
        self._checked = 1
        self._program: Program | None = None
        self._inlined: Program | None = None
        self._counters: Counters | None = None

    def refresh(self) -> None:
        """Take in what was recorded since.

        Raises:
            TraceFormatError: the recording is damaged.
            SymbolError: the ELF file is not the program that was recorded.
        """
        self._program = self._inlined = None
        self._replay.update(self._progress)
        blocks = self.recording.blocks
        if len(blocks) < self._checked:  # another generation
            self._checked, self._changed = 1, frozenset()
        if len(blocks) > self._checked:
            self._changed = changed_blocks(
                blocks,
                self.symbols,
                same_file=self._is_same_file(),
                known=self._changed,
                first=self._checked,
            )
            self._checked = len(blocks)
        if self.symbols.stripped and self.symbols.add_found(
            found_calls(blocks, self._replay.classes, self._replay.tables())
        ):
            # Calls into the functions found now can be followed: once more.
            self._numbers = FunctionNumbers(self.symbols)
            self._replay.set_functions(self._numbers)
            self._replay.update(self._progress)
            self._counters = None

    @property
    def counters(self) -> Counters:
        """Single numbers, quickly."""
        if self._counters is None:
            self._counters = Counters(
                self._replay,
                self.symbols,
                str(self.meta["target"]),
                self.find,
                self._vector_table(),
                lambda: self._changed,
            )
        return self._counters

    @property
    def program(self) -> Program:
        """Tables and symbols joined."""
        if self._program is None:
            self._program = self._joined(self._replay.calls)
        return self._program

    def _joined(self, calls: Callable[[], CallTables]) -> Program:
        return Program(
            str(self.meta["target"]),
            self.recording.blocks,
            self._replay.classes,
            self._replay.tables(),
            self.symbols,
            self._changed,
            calls,
            self._numbers,
            self._task_names(),
        )

    def _task_names(self) -> dict[str, str]:
        """Names of tasks that the board's file configures."""
        names = self.meta.get("task_names", {})
        return {str(symbol): str(name) for symbol, name in dict(names).items()}

    def summary(self, top: int = 10) -> Summary:
        """Totals of the recording; `top` is for who prints it."""
        del top
        return summarize(self.program, self.recording.cut, self._notes(), self.filtered)

    def function(self, name: str) -> FunctionReport:
        """All about one function.

        Raises:
            UsageError: no function, or several, have that name.
        """
        return report_function(self.program, self.find(name))

    def callers(self, name: str) -> CallersReport:
        """Who called a function. Raises: as `function`."""
        return report_callers(self.program, self.find(name))

    def callees(self, name: str) -> CalleesReport:
        """What a function called. Raises: as `function`."""
        return report_callees(self.program, self.find(name))

    @property
    def inlined_program(self) -> Program:
        """As `program`, with inlined functions in the tree of calls. Needs a replay of its own."""
        if self._inlined is None:
            program = self.program
            chains = InlineChains(self.symbols, self._numbers)
            if any(chains.sites(program.blocks)) or any(
                any(chains.of_insns(program.blocks, n)) for n in range(1, len(program.blocks))
            ):
                replay = InlineReplay(self._replay, chains)
                found = replay.run(self._progress)
                calls = with_inlined(replay.calls(), found, program.blocks, chains, self._numbers)
                program = self._joined(lambda: calls)
            self._inlined = program
        return self._inlined

    def profile(self, *, inlined: bool = True) -> Profile:
        """Where instructions were spent.

        Args:
            inlined: whether functions that the compiler inlined have rows of their own.
        """
        return report_profile(self.inlined_program if inlined else self.program)

    def tree(self, name: str | None, pruning: Pruning, *, inlined: bool = True) -> CallTree:
        """The calling-context tree, or what ran below one function.

        Args:
            inlined: whether functions that the compiler inlined have nodes of their own.

        Raises:
            UsageError: no function, or several, have that name, or it never ran.
        """
        program = self.inlined_program if inlined else self.program
        return report_tree(program, None if name is None else self.find(name), pruning)

    def graph(self, root: str | None, pruning: Pruning) -> CallGraph:
        """Who called whom, in all or from one function on. Raises: as `tree`."""
        return report_graph(self.program, None if root is None else self.find(root), pruning)

    def interrupts(self) -> InterruptsReport:
        """The handlers that ran."""
        names: dict[int, list[str]] = {}
        for vector in self._vector_table():
            names.setdefault(vector.handler, []).append(vector.name)
        return report_interrupts(self.program, names)

    def tasks(self) -> TasksReport:
        """The tasks that ran."""
        return report_tasks(self.program)

    def timeline(self, window: SliceWindow) -> Timeline:
        """Calls, handlers and tasks one by one, to be read once."""
        return Timeline(self.program, SliceReplay(self._replay), window, self._progress)

    def execution(self) -> Execution:
        """What ran, by address: what coverage is measured from."""
        return self.program.execution

    def coverage(self, settings: Settings, name: str | None = None) -> Coverage:
        """What ran of the whole program, of one function, or of one source file.

        Args:
            name: a function as `find` takes it, or a file: its path, or the end of it. What is
                named is measured whatever the filter says.

        Raises:
            UsageError: no function and no file, or several, have that name.
        """
        result = self._measure(settings, name)
        return replace(result, notes=(*result.notes, *self.remarks()))

    def conditions(self, settings: Settings, coverage: Coverage) -> ConditionsReport:
        """Condition coverage and MC/DC of what coverage was measured of.

        Raises:
            TraceFormatError: the recording is damaged.
            SymbolError: the debug information is damaged.
        """
        from gdbext.analyses.conditions import report_conditions  # rarely asked, much to load

        replay = PathReplay(self._replay)
        return report_conditions(
            self.program,
            coverage,
            settings.files.path,
            lambda tree: replay.run(tree, self._changed, self._progress),
        )

    def remarks(self) -> list[str]:
        """What bears on the trust in coverage, one line each."""
        notes = self._notes()
        if self.recording.cut:
            notes.append(f"the recording ends early: {self.recording.cut}")
        gaps = self.program.tables.stats.gaps
        if gaps:
            notes.append(f"not everything was recorded: {gaps} gaps")
        if self.symbols.stripped:
            notes.append(
                "the ELF file is stripped: only functions that were called are known, so nothing "
                "tells how many did not run"
            )
        return notes

    def branches(self, settings: Settings, name: str | None = None) -> BranchesReport:
        """The conditional branches. Arguments and Raises: as `coverage`."""
        return report_branches(self.program, self.coverage(settings, name))

    def branch_log(
        self, path: Path, start: str | None, stop: str | None, max_rows: int
    ) -> LogTotals:
        """Write every executed branch to a CSV file, in order.

        Args:
            start: a function, or the 0xADDRESS of an instruction: the log begins when it first
                runs; None: with the recording.
            stop: the log ends when this runs next; None: with the recording.
            max_rows: no more than these.

        Raises:
            UsageError: no function has that name.
            TargetError: the file cannot be written.
            TraceFormatError: the recording is damaged.
        """
        first = None if start is None else self._place(start)
        last = None if stop is None else self._place(stop)
        return write_branch_log(self._replay, path, first, last, max_rows, self._progress)

    def listing(self, settings: Settings, name: str) -> SourceListing:
        """A function's or file's source with what ran. Arguments and Raises: as `coverage`."""
        coverage = self.coverage(settings, name)
        function = self.find(name) if self.symbols.find(name) else None
        where = self.symbols.place_of(function) if function else None
        path = settings.files.path(where.file) if where else None
        return list_source(self.symbols, coverage, function, path)

    def last_insns(self, n: int) -> list[TailInsn]:
        """The last `n` instructions of each vCPU, newest first."""
        found = last_insns(self.recording, self._replay.classes, self.symbols, n)
        return [
            replace(insn, place=pieces.place_of(after))
            for vcpu, insns in found.items()
            for pieces in [self._pieces(vcpu, n)]
            for after, insn in insns
        ]

    def last_calls(self, n: int) -> list[TailRun]:
        """The last `n` stays of each vCPU in an activation of a function, newest first."""
        vcpus = sorted(self.program.tables.n_insns)
        return [run for vcpu in vcpus for run in self._pieces(vcpu, n).last(n)]

    def _pieces(self, vcpu: int, n: int) -> Pieces:
        return Pieces(self.program, self._replay, vcpu, n)

    @property
    def filtered(self) -> Filtered:
        """What filters left out of the recording."""
        return filtered_of(self.recording.meta, self.program.tables.stats)

    def find(self, name: str) -> Function:
        """The one function that `name` means: NAME, FILE:NAME or 0xADDRESS.

        Raises:
            UsageError: there is none, or more than one.
        """
        found = self.symbols.find(name)
        if len(found) == 1:
            return found[0]
        if found:
            places = ", ".join(
                f"{f.file.rsplit('/', 1)[-1]}:{f.name}" if f.file else f"{f.address:#x}"
                for f in found[:6]
            )
            raise UsageError(f"'{name}' is {len(found)} functions: give one of {places}")
        nearest = self.symbols.suggest(name)
        hint = f"; did you mean {' or '.join(nearest[:3])}?" if nearest else ""
        raise UsageError(f"no function '{name}' in {self.symbols.path}{hint}")

    def _notes(self) -> list[str]:
        """What bears on the trust in all counts, one line each."""
        dropped = self.recording.stream.dropped.values()
        lost = sum(vcpu.instructions for vcpu in dropped)
        ring = f"a ring: {lost:,} instructions before these were dropped" if lost else None
        notes = [*filter(None, [self.filtered.note, ring]), *self.symbols.notes]
        if self._is_same_file() is False:
            notes.append(
                "the ELF file is not the one that was recorded (its SHA-256 differs), "
                "but the code that ran is the same"
            )
        if self._changed:
            notes.append(f"{len(self._changed)} executed blocks have other bytes than the ELF file")
        if "cut-inexact" in self.meta.get("features", ()):
            notes.append(
                "blocks left in the middle could not be told (QEMU up to 8.2 with several vCPU "
                "threads): counts may be high; add -accel tcg,thread=single"
            )
        return notes

    def _measure(self, settings: Settings, name: str | None) -> Coverage:
        execution, target = self.program.execution, self.program.target
        if name is None:
            return measure(self.symbols, target, execution, settings)
        settings = replace(settings, files=settings.files.unfiltered())
        if self.symbols.find(name):
            return measure(self.symbols, target, execution, settings, self.find(name))
        whole = measure(self.symbols, target, execution, settings)
        paths = [file.path for file in whole.files if f"/{file.path}".endswith(f"/{name}")]
        if not paths:
            nearest = self.symbols.suggest(name)
            hint = f"; did you mean {' or '.join(nearest[:3])}?" if nearest else ""
            raise UsageError(
                f"no function and no source file '{name}' in {self.symbols.path}{hint}"
            )
        if len(paths) > 1 and name not in paths:
            raise UsageError(f"'{name}' is {len(paths)} files: give one of {', '.join(paths[:6])}")
        return whole.of_file(name if name in paths else paths[0])

    def _place(self, text: str) -> int:
        """Address of a function or instruction.

        Raises:
            UsageError: there is none.
        """
        if text[:2] in ("0x", "0X"):
            try:
                return int(text, 16)
            except ValueError:
                raise UsageError(f"'{text}' is no address") from None
        return self.find(text).address

    def _elf_of_recording(self) -> Path:
        path = self.meta.get("elf_path")
        if not path:
            raise UsageError(
                f"{self.recording.path}: names no ELF file; give the program with --elf ELF"
            )
        if not Path(path).is_file():
            raise UsageError(f"{path}: the recorded program is gone; give it with --elf ELF")
        return Path(path)

    def _others_of_recording(self) -> list[PlacedElf]:
        named = self.meta.get("elf_others", [])
        if not isinstance(named, list) or not all(
            isinstance(each, dict)
            and isinstance(each.get("path"), str)
            and isinstance(each.get("address"), int | None)
            for each in named
        ):
            raise TraceFormatError(f"{self.recording.path}: META: elf_others is no list of files")
        others = [PlacedElf(Path(each["path"]), each["address"]) for each in named]
        for other in others:
            if not other.path.is_file():
                raise UsageError(
                    f"{other.path}: ran beside the program, and is gone; give all such files with "
                    "--symbols FILE@ADDRESS"
                )
        return others

    def _is_same_file(self) -> bool | None:
        recorded = self.meta.get("elf_sha256")
        if recorded is None:
            return None
        # The hashes of files beside it are not recorded.
        same = recorded == self.symbols.sha256
        return None if same and len(self.symbols.entries) > 1 else same

    def _check_machine(self) -> None:
        target = str(self.meta.get("target", ""))
        if self.symbols.machine not in MACHINES.get(target, (self.symbols.machine,)):
            raise SymbolError(
                f"{self.symbols.path}: a program for {self.symbols.machine}, but the recording is "
                f"of {target}; give the ELF that ran"
            )

    def _vectors(self) -> tuple[dict[int, int], set[int]]:
        """Handlers with their kind, and reset entries, from the vector table or the ELF's entry."""
        resets = set(self.symbols.entries)
        vectors = self._vector_table()
        resets |= {vector.handler for vector in vectors if vector.number == RESET}
        kinds: dict[int, int] = {}
        for vector in vectors:
            kind = NodeKind.EXCEPTION if vector.number in EXCEPTIONS else NodeKind.INTERRUPT
            if vector.number != RESET and vector.handler not in resets:
                # One handler for both kinds: each time as it comes.
                known = kinds.setdefault(vector.handler, kind)
                kinds[vector.handler] = kind if known == kind else 0
        return kinds, resets

    def _vector_table(self) -> list[Vector]:
        """The M-profile vector table; empty for other machines."""
        if not self.symbols.m_profile:
            return []
        table = self.meta.get("vector_table")
        return self.symbols.vector_table(int(table) if isinstance(table, int) else 0)
