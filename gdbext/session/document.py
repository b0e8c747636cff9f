# SPDX-License-Identifier: GPL-2.0-or-later
"""YAML with the line of everything, so that what is wrong can be named by file and line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import yaml

from gdbext.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Items", "Keyed", "Node", "Scalar", "Value", "error_at", "read_document", "substituted"]

Value = str | int | float | bool | None


@dataclass(frozen=True)
class Node:
    """A piece of a document, with the place of its beginning."""

    path: Path
    line: int


@dataclass(frozen=True)
class Scalar(Node):
    """A single value."""

    value: Value


@dataclass(frozen=True)
class Items(Node):
    """A list."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Keyed(Node):
    """Keys and their values, in the order of the file; no key comes twice."""

    values: dict[str, Node]
    key_lines: dict[str, int]


def error_at(node: Node, text: str, line: int | None = None) -> ConfigError:
    """An error that names the place."""
    return ConfigError(f"{node.path}:{line or node.line}: {text}")


def read_document(path: Path) -> Node:
    """The file's only document.

    Raises:
        ConfigError: it cannot be read, is not YAML, or has a key twice.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"{path}: cannot be read: {reason}") from error
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise ConfigError(f"{path}:1: is empty; write keys such as 'firmware: app.elf'")
        return _converted(path, loader, node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        problem = error.problem or error.context
        if problem == "mapping values are not allowed here":
            problem += "; put a text with ': ' in quotes"
        elif "${" in "".join(text.splitlines()[line - 1 : line]):
            problem = f"{problem}; between braces, put a value with '${{..}}' in quotes"
        raise ConfigError(f"{path}:{line}: not YAML: {problem}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}:1: not YAML: {' '.join(str(error).split())}") from error
    finally:
        loader.dispose()


def substituted(node: Node, variables: Mapping[str, Value]) -> Node:
    """The document with `${name}` replaced in every value; `$${` stands for `${` itself.

    A value that is nothing but `${name}` becomes the variable's, with its type.

    Raises:
        ConfigError: there is no such variable.
    """
    if isinstance(node, Items):
        return Items(node.path, node.line, tuple(substituted(i, variables) for i in node.items))
    if isinstance(node, Keyed):
        values = {key: substituted(value, variables) for key, value in node.values.items()}
        return Keyed(node.path, node.line, values, node.key_lines)
    assert isinstance(node, Scalar)
    if not isinstance(node.value, str) or "${" not in node.value:
        return node

    def value_of(name: str) -> Value:
        if name not in variables:
            known = ", ".join(sorted(variables)) or "none"
            raise error_at(node, f"no variable '{name}'; variables: {known}")
        return variables[name]

    whole = _VARIABLE.fullmatch(node.value)
    if whole is not None and whole[1]:
        return Scalar(node.path, node.line, value_of(whole[1]))

    def text_of(match: re.Match[str]) -> str:
        return str(value_of(match[1])) if match[1] else "${"

    return Scalar(node.path, node.line, _VARIABLE.sub(text_of, node.value))


_VARIABLE: Final = re.compile(r"\$\$\{|\$\{([^}]*)\}")


def _converted(path: Path, loader: yaml.SafeLoader, node: yaml.Node) -> Node:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        return Items(path, line, tuple(_converted(path, loader, each) for each in node.value))
    if isinstance(node, yaml.MappingNode):
        values: dict[str, Node] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            key = str(loader.construct_object(key_node, deep=True))
            key_line = key_node.start_mark.line + 1
            if key in values:
                raise ConfigError(
                    f"{path}:{key_line}: key '{key}' again; line {lines[key]} has it too"
                )
            values[key] = _converted(path, loader, value_node)
            lines[key] = key_line
        return Keyed(path, line, values, lines)
    value = loader.construct_object(node, deep=True)
    if value is None or isinstance(value, str | int | float | bool):
        return Scalar(path, line, value)
    # A date, or bytes: what was written is meant.
    return Scalar(path, line, str(node.value))
