# SPDX-License-Identifier: GPL-2.0-or-later
"""Every truncation and every damaged byte of a real recording, asked through the command line.

Allowed are one line of error, or answers: those of the whole recording, or, said as such, those
of the part before the damage. Never a traceback, never other numbers.
"""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gdbext import cli
from gdbext.recording.reader import Recording
from gdbext.recording.tokens import BlockStep, steps, totals
from gdbext.recording.writer import RecordingWriter
from tests.integration.failures.programs import wanderer_elf
from tests.support.gdbext_cli import gdbext
from tests.support.tokens import Step, encode

CHUNKS = 4
PARTS = 4
"""Tests that the places are shared out to, for several processes."""


@dataclass(frozen=True)
class Answer:
    """What `gdbext analyze --json` said."""

    status: int
    cut: str | None
    content: dict[str, Any]
    """All but `cut`."""
    err: str


@dataclass(frozen=True)
class Sample:
    """A small recording of a real run, in several chunks."""

    path: Path
    elf: Path
    data: bytes
    ends: list[int]
    """Where its records end."""

    def ask(self, data: bytes) -> Answer:
        """Analyse these bytes."""
        self.path.write_bytes(data)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.main(["analyze", str(self.path), "--elf", str(self.elf), "--json"])
        content = json.loads(out.getvalue()) if status == 0 else {}
        return Answer(status, content.pop("cut", None), content, err.getvalue())


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """A run of 40 rounds, cut in chunks."""
    directory = tmp_path_factory.mktemp("damage")
    elf = wanderer_elf(directory, 40)
    words = ["--board", "mps2-an385", "-o", directory / "t.rec"]
    done = gdbext("record", elf, *words, runtime=directory)
    assert done.status == 0, done.err
    path = directory / "small.rec"
    with Recording.open(directory / "t.rec") as recording, path.open("wb") as out:
        executed: list[Step] = []
        for chunk in recording.data():
            for step in steps(chunk.raw, chunk.run, recording.blocks.count, path.name):
                executed.append(
                    step.block if isinstance(step, BlockStep) else (step.event, step.payload)
                )
        writer = RecordingWriter(out)
        kept = ("target", "features", "vcpus", "vector_table")
        writer.meta({key: recording.meta[key] for key in kept})
        table = recording.blocks
        writer.blocks([table.entries(block, block + 1) for block in range(1, len(table))])
        size = len(executed) // CHUNKS + 1
        for start in range(0, len(executed), size):
            raw, _ = encode(executed[start : start + size])
            n_insns, n_blocks = totals(raw, 0, table, path.name)
            writer.chunk(raw, n_insns=n_insns, n_blocks=n_blocks)
        writer.end()
    with Recording.open(path) as small:
        ends = [record.end for record in small.stream.records]
        assert len(small.chunks) == CHUNKS
        assert small.cut is None
    return Sample(path, elf, path.read_bytes(), ends)


@pytest.fixture(scope="module")
def prefixes(sample: Sample) -> list[Answer]:
    """The answers for the first n records, n from 1 on; the last one is the whole recording's."""
    answers = [sample.ask(sample.data[:end]) for end in sample.ends]
    assert [answer.status for answer in answers] == [0] * len(answers)
    whole = answers[-1]
    assert whole.cut is None
    instructions = [answer.content["instructions"] for answer in answers]
    assert instructions == sorted(instructions)
    assert len(set(instructions)) == CHUNKS + 1
    with Recording.open(sample.path) as recording:
        assert recording.end is not None
        assert instructions[-1] == recording.end[0].instructions
    return answers


def check(answer: Answer, prefixes: list[Answer], what: str) -> None:
    """It is an error in one line, or right."""
    if answer.status != 0:
        assert answer.err.startswith("gdbext: "), what
        assert answer.err.count("\n") == 1, f"{what}: {answer.err}"
        assert "internal error" not in answer.err, f"{what}: {answer.err}"
        assert "Traceback" not in answer.err, what
        return
    if answer.cut is None:
        assert answer.content == prefixes[-1].content, what
    else:
        assert "\n" not in answer.cut
        assert answer.content in [prefix.content for prefix in prefixes[:-1]], what


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_truncation(sample: Sample, prefixes: list[Answer], part: int) -> None:
    for size in range(part, len(sample.data), PARTS):
        answer = sample.ask(sample.data[:size])
        what = f"{size} bytes"

        check(answer, prefixes, what)
        whole_records = sum(end <= size for end in sample.ends)
        if whole_records:
            assert answer.cut is not None, what
            assert answer.content == prefixes[whole_records - 1].content, what
        else:
            assert answer.status != 0 or answer.content["instructions"] == 0, what


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_damaged_byte(sample: Sample, prefixes: list[Answer], part: int) -> None:
    for place in range(part, len(sample.data), PARTS):
        data = bytearray(sample.data)
        data[place] ^= 1 << place // PARTS % 8
        answer = sample.ask(bytes(data))

        check(answer, prefixes, f"offset {place}")
        assert answer.status != 0 or answer.cut is not None, f"offset {place}: not noticed"
