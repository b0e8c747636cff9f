# SPDX-License-Identifier: GPL-2.0-or-later
"""Boards: the YAML files that say how QEMU boots a program on an emulated board."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import yaml

import gdbext
from gdbext.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "ELF_MARK",
    "Board",
    "board_directories",
    "boards",
    "load_board",
    "unnamed_board",
    "user_board",
]

ELF_MARK = "{elf}"
_USER_TARGETS: Final = ("arm", "aarch64", "riscv32", "riscv64", "i386", "x86_64")


@dataclass(frozen=True)
class Board:
    """One emulated board, as its file describes it."""

    name: str
    """The word after --board."""
    description: str
    """One line for people."""
    qemu: str
    """Name of QEMU's binary, without a folder, such as `qemu-system-arm`."""
    args: tuple[str, ...]
    """QEMU's arguments; ELF_MARK stands for the program."""
    cpu: str
    """The core, as the compiler spells it."""
    gdb_architecture: str
    """Word for GDB's `set architecture`."""
    target: str
    """QEMU's target name, as the plugin reports it (`arm`, `aarch64`, `riscv32`, `x86_64`)."""
    vector_table: int | str | None
    """Address or symbol of the vector table at reset; None: the architecture has none."""
    icount: str | None
    """Value for -icount that makes runs repeatable; None: nothing does."""
    path: Path
    """The file it came from."""
    task_names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Names of tasks, by the symbol of their stack (`SYMBOL+OFFSET` inside it) or of the function
    that they begin with."""
    user_mode: bool = False
    """No machine: QEMU runs a single Linux program."""

    def arguments(self, elf: str | os.PathLike[str]) -> list[str]:
        """Return QEMU's arguments that boot `elf`.

        In an argument that holds more than the mark, commas of the path are doubled, as QEMU's
        `key=value` options need it.
        """
        program = os.fspath(elf)
        quoted = program.replace(",", ",,")
        return [
            program if argument == ELF_MARK else argument.replace(ELF_MARK, quoted)
            for argument in self.args
        ]


def load_board(name: str) -> Board:
    """Return the board of that name, or the one in the YAML file that `name` is a path of.

    Raises:
        ConfigError: there is no such board (the nearest name is told), or its file is wrong.
    """
    if "/" in name or name.endswith((".yaml", ".yml")):
        return _read_board(Path(name))
    found = _board_files()
    path = found.get(name)
    if path is None:
        known = ", ".join(sorted(found)) or "none"
        raise ConfigError(f"unknown board '{name}'{_nearest(name, found)}; boards: {known}")
    return _read_board(path)


def unnamed_board(
    qemu: str = "", args: tuple[str, ...] = (), gdb_architecture: str = "", path: Path = Path()
) -> Board:
    """A board that has no file: a command line of QEMU's, or a QEMU that runs already.

    Args:
        gdb_architecture: empty: GDB takes it from the program.
        path: the file that names it.
    """
    return Board(
        name="custom",
        description="",
        qemu=qemu,
        args=args,
        cpu="",
        gdb_architecture=gdb_architecture,
        target="",
        vector_table=None,
        icount=None,
        path=path,
    )


def user_board(qemu: str) -> Board:
    """What stands for a board where QEMU runs a single Linux program.

    Args:
        qemu: a user-mode emulator, such as `qemu-arm`, or its path.

    Raises:
        ConfigError: its name is not that of an emulator whose programs can be recorded.
    """
    target = Path(qemu).name.removeprefix("qemu-")
    if target not in _USER_TARGETS or not Path(qemu).name.startswith("qemu-"):
        known = ", ".join(f"qemu-{name}" for name in _USER_TARGETS)
        raise ConfigError(f"--user: '{qemu}' is none of {known}")
    board = unnamed_board(qemu, (ELF_MARK,))
    return replace(board, name=Path(qemu).name, target=target, user_mode=True)


def boards() -> list[Board]:
    """Return every board that has a file, by name.

    Raises:
        ConfigError: a file is wrong; the first such file is named.
    """
    return [_read_board(path) for _, path in sorted(_board_files().items())]


def board_directories() -> list[Path]:
    """Return the folders that boards are looked for in, the user's before gdbext's own.

    GDBEXT_CONFIG names the user's configuration folders, separated by colons; the boards lie
    in `boards/` under each. Our own `config/` lies in an installed package, or beside it in a
    source tree.

    Raises:
        ConfigError: GDBEXT_CONFIG names a folder without `boards/`.
    """
    directories = []
    for word in filter(None, os.environ.get("GDBEXT_CONFIG", "").split(":")):
        directory = Path(word).expanduser() / "boards"
        if not directory.is_dir():
            raise ConfigError(f"GDBEXT_CONFIG: {directory} is no folder; make it, or unset it")
        directories.append(directory)
    return [*directories, _own_directory()]


# How a file is read.


@dataclass(frozen=True)
class _Key:
    """What a key of a board's file may hold."""

    wanted: str
    """The kind of value, in words."""
    types: tuple[type, ...]


_TEXT = _Key("a text", (str,))
_KEYS: Mapping[str, _Key] = MappingProxyType(
    {
        "name": _TEXT,
        "description": _TEXT,
        "qemu": _TEXT,
        "args": _Key("a list of texts", (list,)),
        "cpu": _TEXT,
        "gdb_architecture": _TEXT,
        "target": _TEXT,
        "vector_table": _Key("an address, a symbol or null", (int, str, type(None))),
        "icount": _Key("a text or null", (str, type(None))),
        "task_names": _Key("symbols with a name each", (dict,)),
    }
)
_STACK: Final = re.compile(r"[^+\s]+(\+(0x[0-9a-fA-F]+|[1-9][0-9]*))?")
_OPTIONAL: Final = frozenset({"task_names"})


def _own_directory() -> Path:
    package = Path(gdbext.__file__).resolve().parent
    for directory in (package / "config" / "boards", package.parent / "config" / "boards"):
        if directory.is_dir():
            return directory
    raise ConfigError(f"{package}/config/boards is missing; install gdbext again")


def _board_files() -> dict[str, Path]:
    """Return the file of each board, by name; a user's file hides ours of the same name."""
    files: dict[str, Path] = {}
    for directory in reversed(board_directories()):
        files.update({path.stem: path for path in sorted(directory.glob("*.yaml"))})
    return files


def _read_board(path: Path) -> Board:
    values = _read_values(path)
    missing = [key for key in _KEYS if key not in values and key not in _OPTIONAL]
    if missing:
        raise ConfigError(f"{path}: no key '{missing[0]}'; it must be {_KEYS[missing[0]].wanted}")

    def line(key: str) -> str:
        return f"{path}:{values[key][1]}"

    name = _text(values, "name")
    if name != path.stem:
        raise ConfigError(f"{line('name')}: name '{name}' in a file of another name; rename one")
    qemu = _text(values, "qemu")
    if "/" in qemu:
        raise ConfigError(f"{line('qemu')}: qemu '{qemu}' has a folder; give the name alone")
    args = values["args"][0]
    assert isinstance(args, list)
    if not any(ELF_MARK in argument for argument in args):
        raise ConfigError(f"{line('args')}: no {ELF_MARK} in args; say where the program goes")
    vector_table = values["vector_table"][0]
    assert vector_table is None or isinstance(vector_table, int | str)
    if isinstance(vector_table, int) and not 0 <= vector_table < 1 << 64:
        raise ConfigError(f"{line('vector_table')}: vector_table is no address: {vector_table}")
    icount = values["icount"][0]
    assert icount is None or isinstance(icount, str)
    return Board(
        name=name,
        description=_text(values, "description"),
        qemu=qemu,
        args=tuple(args),
        cpu=_text(values, "cpu"),
        gdb_architecture=_text(values, "gdb_architecture"),
        target=_text(values, "target"),
        vector_table=vector_table,
        icount=icount,
        path=path,
        task_names=_task_names(path, values),
    )


def _task_names(path: Path, values: Mapping[str, tuple[object, int]]) -> Mapping[str, str]:
    names, line = values.get("task_names", ({}, 0))
    assert isinstance(names, dict)
    for symbol, name in names.items():
        fits = isinstance(symbol, str) and isinstance(name, str) and name
        if not fits or not _STACK.fullmatch(symbol):
            raise ConfigError(
                f"{path}:{line}: task_names: '{symbol}: {name}' is no SYMBOL or SYMBOL+OFFSET with"
                " a name; put numbers in quotes"
            )
    return MappingProxyType({str(symbol): str(name) for symbol, name in names.items()})


def _read_values(path: Path) -> dict[str, tuple[object, int]]:
    """Return value and line of each key, checked for known and unique keys and for its type."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"{path}: cannot be read: {reason}") from error
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise ConfigError(f"{path}:1: not a board; write keys such as 'name: {path.stem}'")
        values: dict[str, tuple[object, int]] = {}
        for key, line, value in _pairs(loader, node):
            where = f"{path}:{line}"
            if key not in _KEYS:
                raise ConfigError(f"{where}: unknown key '{key}'{_nearest(key, _KEYS)}")
            if key in values:
                raise ConfigError(f"{where}: key '{key}' again; line {values[key][1]} has it too")
            _check_type(where, key, value)
            values[key] = (value, line)
        return values
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        raise ConfigError(f"{path}:{line}: not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}:1: not YAML: {' '.join(str(error).split())}") from error
    finally:
        loader.dispose()


def _pairs(loader: yaml.SafeLoader, node: yaml.MappingNode) -> Iterator[tuple[str, int, object]]:
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        value = loader.construct_object(value_node, deep=True)
        yield str(key), key_node.start_mark.line + 1, value


def _check_type(where: str, key: str, value: object) -> None:
    wanted = _KEYS[key]
    fits = isinstance(value, wanted.types) and not isinstance(value, bool)
    if fits and isinstance(value, list):
        fits = all(isinstance(item, str) for item in value)
    if not fits:
        raise ConfigError(f"{where}: {key} must be {wanted.wanted}, not {_shown(value, wanted)}")


def _shown(value: object, wanted: _Key) -> str:
    if isinstance(value, dict) and dict not in wanted.types:
        return "keys of its own"
    if isinstance(value, list):
        if list not in wanted.types:
            return "a list"
        odd = next(item for item in value if not isinstance(item, str))
        return f"a list with {odd!r} (put it in quotes)"
    return "null" if value is None else repr(value)


def _text(values: Mapping[str, tuple[object, int]], key: str) -> str:
    value = values[key][0]
    assert isinstance(value, str)
    return value


def _nearest(word: str, known: Mapping[str, object]) -> str:
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean '{matches[0]}'?" if matches else ""
