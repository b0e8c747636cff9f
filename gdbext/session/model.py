# SPDX-License-Identifier: GPL-2.0-or-later
"""A session file read: its cases, one for each combination of the matrix, with their steps."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gdbext.errors import ConfigError, UsageError
from gdbext.placed import PlacedElf, parse_placed
from gdbext.session.document import (
    Items,
    Keyed,
    Node,
    Scalar,
    Value,
    error_at,
    read_document,
    substituted,
)
from gdbext.session.keys import SESSION
from gdbext.session.shapes import ListOf, Named, Plain
from gdbext.target.attach import Attachment, parse_attachment
from gdbext.target.boards import Board, load_board, unnamed_board

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Case", "Step", "read_session"]

TIMEOUT_S: Final = 300.0
_FROM_MATRIX: Final = ("firmware", "board")


@dataclass(frozen=True)
class Step:
    """One step."""

    word: str
    value: Any
    """As the step's shape reads it (`keys.py`)."""
    path: Path
    line: int

    @property
    def place(self) -> str:
        """FILE:LINE."""
        return f"{self.path}:{self.line}"

    def describe(self) -> str:
        """`word: value` in one short line."""
        if self.value is None:
            return self.word
        if isinstance(self.value, dict):
            text = ", ".join(f"{key}: {value}" for key, value in self.value.items())
        else:
            text = str(self.value)
        text = " ".join(text.split())
        return f"{self.word}: {text if len(text) <= 100 else text[:97] + '...'}"


@dataclass(frozen=True)
class Case:
    """One run of a session."""

    name: str
    """Of the session."""
    label: str
    """What the matrix chose, as `board=microbit, rounds=3`; empty without a matrix."""
    path: Path
    """The session's file."""
    firmware: Path
    board: Board
    qemu_args: tuple[str, ...]
    others: tuple[PlacedElf, ...]
    """ELF files that run beside the firmware."""
    attachment: Attachment | None
    """The QEMU that runs already; None: one is started."""
    timeout_s: float
    variables: dict[str, str | int | float | bool]
    save_recording: str
    steps: tuple[Step, ...]

    @property
    def title(self) -> str:
        """Name and label."""
        return f"{self.name} [{self.label}]" if self.label else self.name


def read_session(path: Path) -> list[Case]:
    """The cases of a session file, in the order of its matrix.

    Raises:
        ConfigError: something in the file is wrong; it names file and line.
    """
    document = read_document(path)
    if not isinstance(document, Keyed):
        raise SESSION.misfit(document, "a session")
    # Keys first: the matrix is looked up before the rest is read.
    for key in ("variables", "matrix"):
        if key in document.values:
            SESSION.keys[key].shape.read(document.values[key], key)
    return [_case(path, document, chosen) for chosen in _combinations(document)]


def _combinations(document: Keyed) -> Iterator[dict[str, Value]]:
    matrix = document.values.get("matrix")
    if matrix is None:
        yield {}
        return
    choices = Named(ListOf(Plain("a value")), "").read(matrix, "matrix")
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def _case(path: Path, document: Keyed, chosen: Mapping[str, Value]) -> Case:
    own: dict[str, Any] = {}
    if "variables" in document.values:
        own = Named(Plain("a value"), "").read(document.values["variables"], "variables")
    _check_matrix(document, own)
    variables = {**own, **chosen}
    values: dict[str, Node] = {}
    for key, node in document.values.items():
        skipped = key in ("variables", "matrix")
        values[key] = node if skipped else substituted(node, variables)
    for key in _FROM_MATRIX:
        if key in chosen:
            matrix = document.values["matrix"]
            values[key] = Scalar(path, matrix.line, str(chosen[key]))
    lines = {**document.key_lines}
    for key in values:
        lines.setdefault(key, document.line)
    filled = Keyed(document.path, document.line, values, lines)
    read = SESSION.read(filled, "a session")
    if "firmware" not in read:
        raise error_at(document, "no key 'firmware'; it must be the ELF file")
    firmware = path.parent / Path(read["firmware"]).expanduser()
    if not firmware.is_file():
        raise error_at(values["firmware"], f"firmware {firmware}: no such file")
    words = read.get("qemu-args", [])
    return Case(
        name=read.get("name", path.name.removesuffix(".yaml").removesuffix(".yml")),
        label=", ".join(f"{key}={_short(value)}" for key, value in chosen.items()),
        path=path,
        firmware=firmware,
        board=_board(read, values, document),
        qemu_args=tuple(words.split() if isinstance(words, str) else words),
        others=_others(read, values, path),
        attachment=_attachment(read, values, path),
        timeout_s=read.get("timeout_s", TIMEOUT_S),
        variables={key: value for key, value in variables.items() if value is not None},
        save_recording=read.get("save-recording", "on-failure"),
        steps=tuple(Step(word, value, path, line) for word, value, line in read["steps"]),
    )


def _check_matrix(document: Keyed, variables: Mapping[str, Any]) -> None:
    """A name of the matrix that nothing uses is a mistake: every case would be the same."""
    matrix = document.values.get("matrix")
    if not isinstance(matrix, Keyed):
        return
    for name, node in matrix.values.items():
        if name in _FROM_MATRIX or name in variables or _is_used(document, name):
            continue
        raise error_at(
            node,
            f"nothing uses '{name}' of the matrix; write ${{{name}}} where its values belong",
            matrix.key_lines[name],
        )


def _is_used(node: Node, name: str) -> bool:
    if isinstance(node, Keyed):
        return any(_is_used(value, name) for value in node.values.values())
    if isinstance(node, Items):
        return any(_is_used(item, name) for item in node.items)
    assert isinstance(node, Scalar)
    # As `${name}`, or as a name in an expectation.
    return isinstance(node.value, str) and bool(
        re.search(rf"(?<![\w$]){re.escape(name)}(?!\w)|\$\{{{re.escape(name)}\}}", node.value)
    )


def _board(read: Mapping[str, Any], nodes: Mapping[str, Node], document: Keyed) -> Board:
    given = [key for key in ("board", "qemu", "attach") if key in read]
    if len(given) != 1:
        has = " and ".join(given) or "none"
        raise error_at(
            document, f"write one of 'board', 'qemu' and 'attach'; the session has {has}"
        )
    if "board" in read:
        name = read["board"]
        if name.endswith((".yaml", ".yml")):
            name = str(document.path.parent / name)
        try:
            return load_board(name)
        except ConfigError as error:
            raise error_at(nodes["board"], str(error)) from None
    architecture = read.get("gdb-architecture", "")
    if "attach" in read:
        return unnamed_board(gdb_architecture=architecture, path=document.path)
    program, *arguments = read["qemu"]
    return unnamed_board(program, tuple(arguments), architecture, document.path)


def _others(
    read: Mapping[str, Any], nodes: Mapping[str, Node], path: Path
) -> tuple[PlacedElf, ...]:
    try:
        return tuple(
            parse_placed(str(path.parent / Path(text).expanduser()))
            for text in read.get("symbols", [])
        )
    except UsageError as error:
        raise error_at(nodes["symbols"], f"symbols: {error}") from None


def _attachment(
    read: Mapping[str, Any], nodes: Mapping[str, Node], path: Path
) -> Attachment | None:
    if "attach" not in read:
        if "control" in read:
            raise error_at(nodes["control"], "control goes with attach: HOST:PORT")
        return None
    if "qemu-args" in read:
        raise error_at(nodes["qemu-args"], "qemu-args cannot reach a QEMU that runs already")
    control = path.parent / Path(read["control"]).expanduser() if "control" in read else None
    try:
        return parse_attachment(read["attach"], control)
    except UsageError as error:
        raise error_at(nodes["attach"], str(error).removeprefix("--")) from None


def _short(value: Value) -> str:
    return Path(value).name if isinstance(value, str) and "/" in value else str(value)
