# SPDX-License-Identifier: GPL-2.0-or-later
"""Shapes of values in a session file: one definition that checks and makes the JSON schema."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gdbext.errors import ConfigError
from gdbext.session.document import Items, Keyed, Node, Scalar, error_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "Choice",
    "Flag",
    "Key",
    "Keys",
    "ListOf",
    "Named",
    "Nothing",
    "OneOf",
    "Plain",
    "Real",
    "Shape",
    "Text",
    "Whole",
    "nearest",
]

# In a file any value may be `${name}`; what it stands for is checked when it is known.
_VARIABLE_SCHEMA: Final = {"type": "string", "pattern": r"^\$\{[^}]+\}$"}


class Shape(ABC):
    """What a value must look like."""

    wanted: str
    """The kind of value, in words that follow `must be`."""

    @abstractmethod
    def fits(self, node: Node) -> bool:
        """Whether the value is of this kind at all; `read` may still find something wrong in it."""

    @abstractmethod
    def read(self, node: Node, name: str) -> Any:
        """The value.

        Raises:
            ConfigError: it is not of this shape; `name` is the key that holds it.
        """

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The same as JSON schema (2020-12)."""

    def misfit(self, node: Node, name: str) -> ConfigError:
        """The error about a value of another kind."""
        return error_at(node, f"{name} must be {self.wanted}, not {_shown(node)}")


class _ScalarShape(Shape):
    types: tuple[type, ...]

    def fits(self, node: Node) -> bool:
        return (
            isinstance(node, Scalar)
            and isinstance(node.value, self.types)
            and (bool in self.types or not isinstance(node.value, bool))
        )

    def read(self, node: Node, name: str) -> Any:
        if not self.fits(node):
            raise self.misfit(node, name)
        assert isinstance(node, Scalar)
        return self.checked(node, name)

    def checked(self, node: Scalar, name: str) -> Any:
        """The value, which is of one of the types."""
        return node.value


class Text(_ScalarShape):
    """A text; a number is taken as it is written only where `numbers` says so."""

    def __init__(
        self,
        wanted: str = "a text",
        *,
        numbers: bool = False,
        check: Callable[[str], None] | None = None,
    ) -> None:
        """`check` raises ValueError for a text that will not do."""
        self.wanted = wanted
        self.types = (str, int, float) if numbers else (str,)
        self._check = check

    def checked(self, node: Scalar, name: str) -> str:
        text = str(node.value)
        if not text:
            raise error_at(node, f"{name} must be {self.wanted}; it is empty")
        if self._check is not None:
            try:
                self._check(text)
            except ValueError as error:
                raise error_at(node, f"{name}: {error}") from None
        return text

    def misfit(self, node: Node, name: str) -> ConfigError:
        error = super().misfit(node, name)
        if isinstance(node, Keyed):
            return ConfigError(f"{error}; put a text with ': ' in quotes")
        return error

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "number"] if float in self.types else "string"}


class Whole(_ScalarShape):
    """An integer; with `counts`, also a text such as `20k` or `1.5M`."""

    def __init__(self, wanted: str = "a number", *, least: int | None = None) -> None:
        self.wanted = wanted
        self.types = (int,)
        self._least = least

    def checked(self, node: Scalar, name: str) -> int:
        value = node.value
        assert isinstance(value, int)
        if self._least is not None and value < self._least:
            raise error_at(node, f"{name} must be at least {self._least}, not {value}")
        return value

    def schema(self) -> dict[str, Any]:
        number: dict[str, Any] = {"type": "integer"}
        if self._least is not None:
            number["minimum"] = self._least
        return {"anyOf": [number, _VARIABLE_SCHEMA]}


class Real(_ScalarShape):
    """A number above 0, such as a time in seconds."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        self.types = (int, float)

    def checked(self, node: Scalar, name: str) -> float:
        value = node.value
        assert isinstance(value, int | float)
        if not value > 0 or value == float("inf"):
            raise error_at(node, f"{name} must be above 0, not {value}")
        return float(value)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, _VARIABLE_SCHEMA]}


class Flag(_ScalarShape):
    """true or false."""

    wanted = "true or false"
    types = (bool,)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "boolean"}, _VARIABLE_SCHEMA]}


class Plain(_ScalarShape):
    """Any single value but null."""

    types = (str, int, float, bool)

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "number", "boolean"]}


class Nothing(_ScalarShape):
    """No value: `key:` alone."""

    wanted = "empty"
    types = (type(None),)

    def schema(self) -> dict[str, Any]:
        return {"type": "null"}


class Choice(_ScalarShape):
    """One of some words."""

    def __init__(self, *words: str) -> None:
        self.wanted = "one of " + ", ".join(words)
        self.types = (str,)
        self._words = words

    def checked(self, node: Scalar, name: str) -> str:
        word = str(node.value)
        if word not in self._words:
            hint = nearest(word, self._words)
            raise error_at(node, f"{name} must be {self.wanted}, not '{word}'{hint}")
        return word

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(self._words)}, _VARIABLE_SCHEMA]}


class ListOf(Shape):
    """A list."""

    def __init__(self, item: Shape, *, least: int = 0) -> None:
        self._item = item
        self._least = least
        self.wanted = "a list"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Items)

    def read(self, node: Node, name: str) -> list[Any]:
        if not isinstance(node, Items):
            raise self.misfit(node, name)
        if len(node.items) < self._least:
            raise error_at(node, f"{name} must have at least {self._least} item")
        return [self._item.read(item, f"{name}[{index}]") for index, item in enumerate(node.items)]

    def schema(self) -> dict[str, Any]:
        schema = {"type": "array", "items": self._item.schema()}
        return {**schema, "minItems": self._least} if self._least else schema


class OneOf(Shape):
    """The first of several shapes that fits."""

    def __init__(self, *shapes: Shape) -> None:
        self._shapes = shapes
        self.wanted = " or ".join(shape.wanted for shape in shapes)

    def fits(self, node: Node) -> bool:
        return any(shape.fits(node) for shape in self._shapes)

    def read(self, node: Node, name: str) -> Any:
        for shape in self._shapes:
            if shape.fits(node):
                return shape.read(node, name)
        raise self.misfit(node, name)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [shape.schema() for shape in self._shapes]}


class Named(Shape):
    """Values under names that the user chooses."""

    def __init__(self, value: Shape, wanted: str) -> None:
        self._value = value
        self.wanted = wanted

    def fits(self, node: Node) -> bool:
        return isinstance(node, Keyed)

    def read(self, node: Node, name: str) -> dict[str, Any]:
        if not isinstance(node, Keyed):
            raise self.misfit(node, name)
        return {key: self._value.read(value, key) for key, value in node.values.items()}

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self._value.schema()}


@dataclass(frozen=True)
class Key:
    """One of the keys that a mapping may have."""

    shape: Shape
    help: str
    """One line for the documentation and for editors."""
    required: bool = False


class Keys(Shape):
    """A mapping with known keys."""

    def __init__(
        self,
        keys: Mapping[str, Key],
        *,
        one_of: Sequence[str] = (),
        exactly_one: bool = False,
        wanted: str = "",
    ) -> None:
        """Args:
        one_of: of these keys exactly one must be there.
        exactly_one: the mapping has one key and no more.
        """
        self.keys = dict(keys)
        self._one_of = tuple(one_of)
        self._exactly_one = exactly_one
        self.wanted = wanted or f"keys ({', '.join(keys)})"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Keyed)

    def read(self, node: Node, name: str) -> dict[str, Any]:
        if not isinstance(node, Keyed):
            raise self.misfit(node, name)
        for key in node.values:
            if key not in self.keys:
                hint = nearest(key, self.keys) or f"; keys: {', '.join(self.keys)}"
                raise error_at(node, f"unknown key '{key}'{hint}", node.key_lines[key])
        for key, known in self.keys.items():
            if known.required and key not in node.values:
                raise error_at(node, f"no key '{key}'; it must be {known.shape.wanted}")
        self._check_one_of(node, name)
        return {key: self.keys[key].shape.read(value, key) for key, value in node.values.items()}

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                key: {"description": known.help, **known.shape.schema()}
                for key, known in self.keys.items()
            },
            "additionalProperties": False,
        }
        required = [key for key, known in self.keys.items() if known.required]
        if required:
            schema["required"] = required
        if self._one_of:
            schema["oneOf"] = [{"required": [key]} for key in self._one_of]
        if self._exactly_one:
            schema |= {"minProperties": 1, "maxProperties": 1}
        return schema

    def _check_one_of(self, node: Keyed, name: str) -> None:
        if self._exactly_one and len(node.values) != 1:
            has = ", ".join(node.values) or "none"
            raise error_at(node, f"{name} must have exactly one key; it has {has}")
        if not self._one_of:
            return
        found = [key for key in self._one_of if key in node.values]
        if len(found) != 1:
            has = " and ".join(found) or "none"
            raise error_at(node, f"{name} must have one of {', '.join(self._one_of)}; it has {has}")


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing if nothing is near."""
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean '{matches[0]}'?" if matches else ""


def _shown(node: Node) -> str:
    if isinstance(node, Items):
        return "a list"
    if isinstance(node, Keyed):
        return f"keys ({', '.join(node.values)})" if node.values else "keys"
    assert isinstance(node, Scalar)
    if node.value is None:
        return "empty"
    if isinstance(node.value, bool):
        return str(node.value).lower()
    return repr(node.value)
