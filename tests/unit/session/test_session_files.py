# SPDX-License-Identifier: GPL-2.0-or-later
"""Session files: what is wrong is named by file and line, and the schema agrees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from gdbext.errors import ConfigError
from gdbext.session.keys import STEPS, json_schema
from gdbext.session.model import Case, read_session
from gdbext.session.questions import QUESTIONS

ROOT = Path(__file__).parents[3]
HEAD = "firmware: app.elf\nboard: mps2-an385\n"


def read(tmp_path: Path, text: str) -> list[Case]:
    """The cases of a session with that text, beside a firmware file."""
    (tmp_path / "app.elf").write_bytes(b"\x7fELF")
    path = tmp_path / "session.yaml"
    path.write_text(text)
    return read_session(path)


def accepts(text: str) -> bool:
    """Whether the JSON schema takes the file."""
    validator = jsonschema.Draft202012Validator(json_schema())
    return bool(validator.is_valid(yaml.safe_load(text)))


GOOD = (
    HEAD
    + """\
qemu-args: [-icount, shift=5]
steps:
  - trace: start
  - break: main
  - continue: {timeout_s: 5}
  - run-until: {function: app_done, timeout_s: 20}
  - run-until: {insns: 20M}
  - step
  - continue
  - delete: all
  - set: {variable: x, value: 3}
  - set: {address: 0x20000000, bytes: "de ad"}
  - input: "go\\n"
  - trace: stop
  - analyze: {function: malloc, save: malloc.json}
  - export: {format: lcov, file: out.info}
  - expect: "calls(malloc) == calls(free)"
  - expect: {that: gaps == 0, because: all is recorded}
"""
)


def test_the_shape_of_the_documentation_is_read(tmp_path: Path) -> None:
    [case] = read(tmp_path, GOOD)

    assert case.qemu_args == ("-icount", "shift=5")
    assert case.board.name == "mps2-an385"
    assert [(step.word, step.line) for step in case.steps[:3]] == [
        ("trace", 5),
        ("break", 6),
        ("continue", 7),
    ]
    assert accepts(GOOD)


# What is wrong, and whether the schema can see it too (it knows no expressions and no files).
WRONG: list[tuple[str, str, bool]] = [
    ("firmwar: a\nboard: b\nsteps: [step]\n", "1: unknown key 'firmwar'; did you mean 'firm", True),
    (HEAD + "boards: x\nsteps: [step]\n", "3: unknown key 'boards'; did you mean 'board'?", True),
    (HEAD + "board: microbit\nsteps: [step]\n", "3: key 'board' again; line 2 has it too", False),
    (HEAD + "steps: []\n", "3: steps must have at least 1 item", True),
    (HEAD, "1: no key 'steps'; it must be a list", True),
    (HEAD + "steps: step\n", "3: steps must be a list, not 'step'", True),
    (
        HEAD + "timeout_s: soon\nsteps: [step]\n",
        "timeout_s must be a time in seconds, not 's",
        True,
    ),
    (HEAD + "timeout_s: -3\nsteps: [step]\n", "3: timeout_s must be above 0, not -3", True),
    (HEAD + "timeout_s: true\nsteps: [step]\n", "must be a time in seconds, not true", True),
    (HEAD + "steps:\n  - continu\n", "4: unknown step 'continu'; did you mean 'continue'?", True),
    (HEAD + "steps:\n  - brek: main\n", "4: unknown key 'brek'; did you mean 'break'?", True),
    (HEAD + "steps:\n  - break\n", "4: step 'break' needs a value: a location or keys", True),
    (
        HEAD + "steps:\n  - {step: 1, reset: }\n",
        "4: a step must have exactly one key; it has",
        True,
    ),
    (
        HEAD + "steps:\n  - break: {at: f, iff: x}\n",
        "4: unknown key 'iff'; did you mean 'if'?",
        True,
    ),
    (HEAD + "steps:\n  - break: {if: x}\n", "4: no key 'at'; it must be a location", True),
    (HEAD + "steps:\n  - break: [f, g]\n", "must be a location or keys (at, if, temporary,", True),
    (HEAD + "steps:\n  - run-until: {timeout_s: 1}\n", "must have one of function, line, ad", True),
    (HEAD + "steps:\n  - run-until: {exit: 1, line: a.c:1}\n", "it has line and exit", True),
    (HEAD + "steps:\n  - step: {by: lines}\n", "not 'lines'; did you mean 'line'?", True),
    (HEAD + "steps:\n  - step: 0\n", "4: step must be at least 1, not 0", True),
    (HEAD + "steps:\n  - expect: calls(f) = 3\n", "4: expect: 'calls(f) = 3': an operator", False),
    (HEAD + "steps:\n  - expect: cals(f) > 3\n", "unknown question 'cals'; did you mean", False),
    (
        HEAD + 'steps:\n  - expect: console contains "a: b"\n',
        "put a text with ': ' in quotes",
        False,
    ),
    (HEAD + "steps:\n  - set: {address: 0, bytes: xyz}\n", "'xyz' is no list of bytes", False),
    (HEAD + "steps:\n  - break: ${where}\n", "4: no variable 'where'; variables: none", False),
    (
        HEAD + "steps:\n  - break: {at: ${f}}\n",
        "between braces, put a value with '${..}' in",
        False,
    ),
    (HEAD + "matrix: {n: [1]}\nsteps: [step]\n", "3: nothing uses 'n' of the matrix; wr", False),
    (HEAD + "matrix: {n: 1}\nsteps: [step: '${n}']\n", "n must be a list, not 1", True),
    (HEAD + "steps: [step\n", "4: not YAML: ", False),
    ("- step\n", "1: a session must be keys such as 'firmware', 'board' and 'steps', not a", True),
    ("", "1: is empty", False),
    ("board: mps2-an385\nsteps: [step]\n", "1: no key 'firmware'", False),
    ("firmware: app.elf\nsteps: [step]\n", "write one of 'board', 'qemu' and 'attach'; the", False),
    (HEAD + "attach: :1\nsteps: [step]\n", "the session has board and attach", False),
    (HEAD + "control: c\nsteps: [step]\n", "3: control goes with attach: HOST:PORT", False),
    (HEAD + "symbols: [b.elf@0]\nsteps: [step]\n", "b.elf: no such file; write FILE or", False),
    (
        "firmware: app.elf\nattach: host\nsteps: [step]\n",
        "2: attach: 'host' is no HOST:PORT",
        False,
    ),
    ("firmware: no.elf\nboard: microbit\nsteps: [step]\n", "no.elf: no such file", False),
    (
        "firmware: app.elf\nboard: mps2\nsteps: [step]\n",
        "2: unknown board 'mps2'; did you m",
        False,
    ),
]


@pytest.mark.parametrize(("text", "message", "schema_sees"), WRONG, ids=lambda v: str(v)[-30:])
def test_what_is_wrong_is_one_line_with_its_place(
    text: str, message: str, schema_sees: bool, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, text)

    told = str(raised.value)
    assert message in told
    assert told.startswith(f"{tmp_path}/session.yaml:")
    assert "\n" not in told
    if schema_sees:
        assert not accepts(text)


def test_matrix_gives_every_combination_and_variables_keep_their_types(tmp_path: Path) -> None:
    text = HEAD.replace("mps2-an385", "${board}") + (
        "matrix:\n  board: [microbit, mps2-an385]\n  n: [1, 2]\nvariables: {name: f}\n"
        "steps:\n  - break: '${name}_${n}'\n  - step: ${n}\n  - input: 'a$${n}'\n"
    )

    cases = read(tmp_path, text)

    assert [case.label for case in cases] == [
        "board=microbit, n=1",
        "board=microbit, n=2",
        "board=mps2-an385, n=1",
        "board=mps2-an385, n=2",
    ]
    assert [case.board.name for case in cases[1:3]] == ["microbit", "mps2-an385"]
    assert [step.value for step in cases[1].steps] == ["f_2", 2, "a${n}"]
    assert accepts(text)


def test_a_whole_command_line_instead_of_a_board(tmp_path: Path) -> None:
    text = (
        "firmware: app.elf\nqemu: [qemu-system-arm, -M, mps2-an385, -kernel, '{elf}']\n"
        "steps: [continue]\n"
    )

    [case] = read(tmp_path, text)

    assert case.board.qemu == "qemu-system-arm"
    assert case.board.arguments(case.firmware)[-2:] == ["-kernel", str(tmp_path / "app.elf")]


def test_shipped_schema_is_that_of_the_definition() -> None:
    shipped = json.loads((ROOT / "config" / "session.schema.json").read_text())

    assert shipped == json_schema(), "run: gdbext run --schema > config/session.schema.json"
    jsonschema.Draft202012Validator.check_schema(shipped)


@pytest.mark.parametrize("path", sorted((ROOT / "config" / "sessions").glob("*.yaml")), ids=str)
def test_schema_accepts_the_samples(path: Path) -> None:
    assert accepts(path.read_text())


def test_every_key_and_question_is_documented() -> None:
    written = (ROOT / "docs" / "sessions.md").read_text()

    def keys_of(schema: dict[str, Any]) -> set[str]:
        found = set(schema.get("properties", {}))
        for value in schema.values():
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict):
                    found |= keys_of(each)
        return found

    missing = {key for key in keys_of(json_schema()) | set(STEPS) if f"`{key}`" not in written}
    missing |= {q.usage for q in QUESTIONS.values() if f"`{q.usage}`" not in written}
    assert missing == set()
