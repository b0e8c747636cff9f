# SPDX-License-Identifier: GPL-2.0-or-later
"""Slices of a recording for tests, and what must hold for those of every recording."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from gdbext.analyses.timeline import Slice, Timeline
from gdbext.analyses.workspace import Workspace
from gdbext.replay.slices import SliceWindow

__all__ = ["assert_nested", "paths_of", "read_slices", "timeline_of"]

Track = tuple[int, str | None, int, bool]


def timeline_of(recording: Path, elf: Path, window: SliceWindow) -> Timeline:
    """A window of a recording."""
    workspace = Workspace(recording, elf)
    workspace.refresh()
    return workspace.timeline(window)


def read_slices(recording: Path, elf: Path, window: SliceWindow) -> list[Slice]:
    """The slices of a window."""
    return list(timeline_of(recording, elf, window).slices())


def assert_nested(slices: Iterable[Slice], instructions: int) -> None:
    """In each track every slice lies in the one above it; each instruction is in one slice only,
    and in the run of one task, or a handler's; they come in the order of their ends."""
    slices = list(slices)
    assert sum(each.self_insns for each in slices) == instructions
    assert all(a.end <= b.end for a, b in pairwise(slices))
    for own in by_track(slices).values():
        open_now: list[Slice] = []
        inside: Counter[int] = Counter()
        for each in own:
            assert 0 <= each.self_insns <= each.inclusive_insns <= each.end - each.start
            del open_now[each.depth - 1 :]
            assert len(open_now) == each.depth - 1, each
            if open_now:
                assert open_now[-1].start <= each.start <= each.end <= open_now[-1].end
                inside[id(open_now[-1])] += each.inclusive_insns
            open_now.append(each)
        for each in own:
            if each.kind != "run":
                assert each.self_insns + inside[id(each)] == each.inclusive_insns, each
        ended = [each for each in own if each.depth == 1]
        assert all(a.end <= b.start for a, b in pairwise(ended))
    runs = sum(each.inclusive_insns for each in slices if each.kind == "run")
    assert runs == sum(each.self_insns for each in slices if not each.level)


def by_track(slices: Iterable[Slice]) -> dict[Track, list[Slice]]:
    """Slices of each track in the order of their starts, outer ones first."""
    tracks: dict[Track, list[Slice]] = defaultdict(list)
    for each in slices:
        of_run = each.kind == "run"
        tracks[each.vcpu, None if of_run else each.task, each.level, of_run].append(each)
    for own in tracks.values():
        own.sort(key=lambda each: (each.start, each.depth))
    return tracks


def paths_of(slices: Iterable[Slice], booked: set[str]) -> dict[str, int]:
    """Calls by path as in tests/support/books.py, from how slices lie in each other."""
    found: Counter[str] = Counter()
    for (_, task, _, of_run), own in by_track(slices).items():
        if of_run:
            continue
        above: list[tuple[str, str]] = []
        for each in own:
            del above[each.depth - 1 :]
            path, caller = above[-1] if above else ("task" if task is not None else "trap", "")
            name = each.function.name
            if name in booked:
                path += (">" if each.kind == "tail" and caller in booked else "/") + name
                found[path] += not each.open_start
            above.append((path, name))
    return dict(found)
