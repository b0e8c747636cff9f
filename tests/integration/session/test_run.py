# SPDX-License-Identifier: GPL-2.0-or-later
"""`gdbext run` with real QEMU and GDB: sessions that pass, fail and cannot run."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gdbext.recording.reader import Recording
from tests.support.firmware import counters, firmware_path
from tests.support.gdb_session import need_gdb
from tests.support.gdbext_cli import ROOT, Done, forever_elf, gdbext, qemu_processes
from tests.support.qemus import qemu_in

SAMPLES = ROOT / "config" / "sessions"

RunSession = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path) -> RunSession:
    """Run the session with that text, in a folder and with a runtime directory of its own."""
    need_gdb()
    qemu_in("", "qemu-system-arm")

    def run_session(text: str, *words: object, elf: Path | None = None) -> Done:
        elf = elf or firmware_path("demo", "mps2-an385")
        head = f"firmware: {elf}\nboard: mps2-an385\n"
        (tmp_path / "s.yaml").write_text(head + text)
        done = gdbext("run", "s.yaml", *words, runtime=tmp_path, cwd=tmp_path)
        assert qemu_processes(tmp_path) == []
        assert list(tmp_path.glob(f"gdbext-{os.getuid()}/*")) == []
        return done

    return run_session


def test_sample_with_functions_handlers_and_the_console(tmp_path: Path) -> None:
    need_gdb()
    firmware_path("demo", "mps2-an385")

    done = gdbext("run", SAMPLES / "station.yaml", runtime=tmp_path, cwd=tmp_path)

    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("PASS  station (")
    answer = json.loads((tmp_path / "gdbext-artifacts/station/malloc.json").read_text())
    assert answer["schema"] == "gdbext/analyze/1"
    console = (tmp_path / "gdbext-artifacts/station/console.txt").read_text()
    assert console.startswith("station: ready\n") and console.endswith("station: done\n")


def test_sample_on_four_boards_side_by_side(tmp_path: Path) -> None:
    need_gdb()
    boards = ["mps2-an385", "virt-rv64", "virt-aarch64", "vexpress-a9"]
    for board in boards:
        firmware_path("basic", board, "O2")

    junit = tmp_path / "junit.xml"
    words = (
        "run",
        SAMPLES / "boards.yaml",
        "-j",
        2,
        "--junit",
        junit,
        "--artifacts",
        tmp_path / "a",
    )
    done = gdbext(*words, runtime=tmp_path, cwd=tmp_path)

    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[-1].startswith("4 passed in ")
    cases = ElementTree.parse(junit).findall("./testsuite/testcase")
    assert [case.get("name") for case in cases] == [f"board={board}" for board in boards]
    for board in boards:
        console = (tmp_path / "a" / "boards" / f"board={board}" / "console.txt").read_text()
        assert counters(console)["iterations"] == 60


def test_an_expectation_that_does_not_hold(run: RunSession, tmp_path: Path) -> None:
    done = run(
        """\
steps:
  - trace: start
  - run-until: {exit: true}
  - expect: {that: calls(malloc) == calls(free) + 1, because: one message stays}
  - dump: never.rec
""",
        "--junit",
        "j.xml",
    )

    assert done.status == 1
    assert done.out.startswith(
        "FAIL  s: s.yaml:6: expect: expected calls(malloc) == calls(free) + 1, but "
        "calls(malloc) is 27,000 and calls(free) is 27,000 (one message stays)\n"
    )
    [failure] = ElementTree.parse(tmp_path / "j.xml").findall("./testsuite/testcase/failure")
    assert "calls(malloc) is 27,000" in str(failure.get("message"))
    artifacts = tmp_path / "gdbext-artifacts" / "s"
    assert not (artifacts / "never.rec").exists()
    report = json.loads((artifacts / "session.json").read_text())
    assert [step["line"] for step in report["steps"]] == [4, 5, 6]
    with Recording.open(artifacts / "recording.rec") as recording:
        assert recording.cut is None


def test_every_kind_of_step(run: RunSession, tmp_path: Path) -> None:
    done = run(
        """\
qemu-args: [-icount, shift=5]
variables: {size: 32}
save-recording: never
steps:
  - trace: {command: status --json, save: before.json}
  - break: {at: malloc, if: "size_bytes >= ${size}", ignore: 1}
  - trace: start
  - continue: {times: 2, timeout_s: 60}
  - expect: stop.function == "malloc" and stop.reason == "breakpoint-hit" and stop.breakpoint == 1
  - eval: {expression: $pc, as: entry}
  - expect: calls(malloc) == calls(free) + 2
  - delete
  - step: {by: insn, count: 3}
  - expect: value("$pc") > entry and value("$pc") <= entry + 12
  - step: {by: out}
  - watch: {expression: ticks, if: ticks == 3}
  - continue
  - expect: stop.reason == "watchpoint-trigger" and value("ticks") == 3
  - delete: 2
  - set: {variable: ticks, value: 1000}
  - set: {address: "&temperature", bytes: "2a 00 00 00"}
  - expect: value("ticks") == 1000 and value("temperature") == 42
  - trace: clear
  - run-until: {line: "demo/main.c:90"}
  - break: gx_exit
  - run-until: {console: "round 500"}
  - expect: console contains "round 500"
  - delete
  - gdb: {command: "info registers pc", save: pc.txt}
  - analyze: {function: malloc, save: malloc.txt}
  - coverage: {of: allocator.c, save: coverage.json}
  - export: {format: lcov, file: out.info}
  - export: {format: csv, file: rows.csv, include: ["*/allocator.c"]}
  - export: {format: drcov, file: blocks.drcov}
  - expect: coverage("malloc").insns > 50 and coverage("heap_dump").insns == 0
  - expect: coverage.functions > 0 and coverage.functions < 100
  - dump: part.rec
  - reset
  - expect: stop.function == "Reset_Handler"
  - run-until: {address: "&main"}
  - expect: value("ticks") == 0
  - run-until: {exit: 0}
  - expect: exit_status == 0
"""
    )

    assert done.status == 0, done.out + done.err
    artifacts = tmp_path / "gdbext-artifacts" / "s"
    assert json.loads((artifacts / "before.json").read_text())["schema"] == "gdbext/status/1"
    assert (artifacts / "pc.txt").read_text().startswith("pc ")
    assert (artifacts / "malloc.txt").read_text().startswith("malloc at 0x")
    coverage = json.loads((artifacts / "coverage.json").read_text())
    assert [Path(file["path"]).name for file in coverage["files"]] == ["allocator.c"]
    sources = {
        line[3:]
        for line in (artifacts / "out.info").read_text().splitlines()
        if line.startswith("SF:")
    }
    assert {Path(source).name for source in sources} >= {"allocator.c", "main.c"}
    assert "allocator.c" in (artifacts / "rows.csv").read_text()
    assert "main.c" not in (artifacts / "rows.csv").read_text()
    assert (artifacts / "blocks.drcov").read_bytes().startswith(b"DRCOV VERSION")
    with Recording.open(artifacts / "part.rec") as recording:
        assert recording.meta["board"] == "mps2-an385"
    assert not (artifacts / "recording.rec").exists()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("run-until: {function: panic}", "the program has ended with status 0 before panic was r"),
        ("run-until: {exit: 3}", "the program ended with status 0; expected 3"),
        ("run-until: {console: PASS}", "status 0 before console output 'PASS' was reached"),
        ("continue: 2", "the program has ended with status 0; start it again"),
    ],
)
def test_firmware_that_does_something_else(step: str, message: str, run: RunSession) -> None:
    done = run(f"steps:\n  - {step}\n")

    assert message in done.out.splitlines()[0]
    assert done.status == (1 if "until" in step else 2)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            "continue: {timeout_s: 0.3}",
            "continue: no stop within 0.3 s; signal-received SIGINT in co",
        ),
        ("run-until: {line: 'x.s:1', timeout_s: 1}", "run-until: No symbol table is loaded"),
        (
            "run-until: {exit: true, timeout_s: 0.2}",
            "the program's end is not reached within 0.2 s",
        ),
        ("run-until: {seconds: 0.2}", ""),
    ],
)
def test_firmware_that_never_ends(step: str, message: str, run: RunSession, tmp_path: Path) -> None:
    done = run(f"steps:\n  - {step}\n", elf=forever_elf(tmp_path))

    assert message in done.out.splitlines()[0]
    assert done.status == (0 if not message else 2 if "x.s" in step else 1)


def test_run_until_a_number_of_instructions(run: RunSession, tmp_path: Path) -> None:
    done = run(
        """\
steps:
  - trace: start
  - run-until: {insns: 1M}
  - trace: stop
  - eval: {expression: $r0, as: counted}
  - expect: instructions >= 1M and counted >= 500k and instructions <= 2 * counted + 3
""",
        elf=forever_elf(tmp_path),
    )

    assert done.status == 0, done.out
    report = json.loads((tmp_path / "gdbext-artifacts/s/session.json").read_text())
    [step] = [step for step in report["steps"] if step["step"].startswith("run-until")]
    assert re.search(r"; [\d,]+ instructions more than asked for$", step["said"])


def test_the_example_of_the_documentation_does_what_it_says(tmp_path: Path) -> None:
    need_gdb()
    text = (ROOT / "docs" / "sessions.md").read_text()
    example = textwrap.dedent(text[text.index("    firmware:") : text.index("    $ gdbext run")])
    elf = firmware_path("demo", "mps2-an385")
    for there, here in (("build/app.elf", str(elf)), ("app_done", "gx_exit")):
        assert there in example
        example = example.replace(there, here)
    (tmp_path / "app.yaml").write_text(example)

    done = gdbext("run", "app.yaml", runtime=tmp_path, cwd=tmp_path)

    assert (done.status, done.err) == (0, ""), done.out
    artifacts = tmp_path / "gdbext-artifacts" / "app"
    assert json.loads((artifacts / "malloc.json").read_text())["name"] == "malloc"
    assert (artifacts / "out.info").read_text().startswith("TN:")


CANNOT_GO_ON = [
    ("[expect: calls(malloc) > 1]", "expect: nothing is recorded yet: `trace: start`, then"),
    ("[break: mallok]", 'break: Function "mallok" not defined.'),
    ("[eval: nosuch]", 'eval: No symbol "nosuch" in current context.'),
    ("[trace: start, continue, expect: calls(mallok) > 1]", "did you mean malloc?"),
    ("[trace: strat]", "trace: no command `trace strat`; did you mean 'start'?"),
    ("[trace: analyze --function]", "trace: trace analyze: argument --function: expected one"),
    ("[expect: exit_status == 0]", "expect: exit_status: the program has not ended"),
    ("[expect: unheard == 0]", "expect: unknown question or variable 'unheard'"),
    ("[run-until: {exit: 0}, eval: 1 + 1]", "eval: 1 + 1: the program has ended"),
    ("[{run-until: {insns: 5}}]", "start recording"),
    ("[{run-until: {console-matches: '('}}]", "'(' is no regular expression"),
]


def test_sessions_that_cannot_go_on_say_why_in_one_line(tmp_path: Path) -> None:
    need_gdb()
    elf = firmware_path("demo", "mps2-an385")
    names = []
    for index, (steps, _) in enumerate(CANNOT_GO_ON):
        names.append(f"s{index}.yaml")
        text = f"firmware: {elf}\nboard: mps2-an385\nsteps: {steps}\n"
        (tmp_path / names[-1]).write_text(text)

    done = gdbext("run", *names, "-j", 2, runtime=tmp_path, cwd=tmp_path)

    assert (done.status, done.err) == (2, "")
    told = [line for line in done.out.splitlines() if line.startswith("ERROR")]
    assert len(told) == len(CANNOT_GO_ON)
    for index, (_, message) in enumerate(CANNOT_GO_ON):
        assert told[index].startswith(f"ERROR s{index}: s{index}.yaml:3: ")
        assert message in told[index]


def test_qemu_that_does_not_start_is_told_in_one_line(run: RunSession) -> None:
    done = run("qemu-args: [-nosuchoption]\nsteps: [continue]\n")

    assert done.status == 2
    assert "invalid option" in done.out.splitlines()[0]
    assert done.err == ""


def test_a_whole_command_line_instead_of_a_board(tmp_path: Path) -> None:
    need_gdb()
    elf = firmware_path("basic", "mps2-an385", "O2")
    (tmp_path / "s.yaml").write_text(
        f"firmware: {elf}\n"
        "qemu: [qemu-system-arm, -M, mps2-an385, -nographic, -semihosting, -kernel, '{elf}']\n"
        "steps: [trace: start, run-until: {exit: 0}, expect: calls(main) == 1]\n"
    )

    done = gdbext("run", "s.yaml", runtime=tmp_path, cwd=tmp_path)

    assert (done.status, done.out.split(" (")[0]) == (0, "PASS  s")


def test_wrong_files_do_not_keep_the_others_from_running(run: RunSession, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("firmwar: x\n")

    done = run("steps: [run-until: {exit: 0}]\n", "wrong.yaml", "--quiet")

    assert done.status == 2
    assert done.out == (
        "ERROR wrong: wrong.yaml:1: unknown key 'firmwar'; did you mean 'firmware'?\n"
    )


def test_check_reads_and_runs_nothing(run: RunSession, tmp_path: Path) -> None:
    done = run("steps: [continue]\n", "--check")

    assert (done.status, done.out) == (0, "1 case in 1 file: nothing is wrong\n")
    assert not (tmp_path / "gdbext-artifacts").exists()
