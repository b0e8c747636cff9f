# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of commands: every verb with its help, arguments and preconditions, for all doors."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import pkgutil
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Protocol

from gdbext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gdbext.commands.context import Context, Door, Need

__all__ = ["Argument", "Command", "command", "commands", "dispatch", "find_command"]

Completion = Literal["function", "file", "board"]

ALL_DOORS: Final[tuple[Door, ...]] = ("cli", "gdb")


@dataclass(frozen=True)
class Argument:
    """One word a command takes: `FILE` (positional) or `--name`."""

    name: str
    help: str
    metavar: str = ""
    """What stands for the value in the usage line; empty for a flag."""
    parse: Callable[[str], Any] = str
    optional: bool = False
    """For a positional one: may be missing. Options always may, unless `required`."""
    required: bool = False
    many: bool = False
    """An option that may be given several times; a positional one that takes all words left."""
    rest: bool = False
    """All words after `--`."""
    tail: bool = False
    """An option that takes all words after it, up to `--`."""
    default: Any = None
    choices: tuple[str, ...] = ()
    completes: Completion | None = None
    doors: tuple[Door, ...] = ALL_DOORS

    @property
    def is_option(self) -> bool:
        """It begins with a dash."""
        return self.name.startswith("-")

    @property
    def is_flag(self) -> bool:
        """An option without a value."""
        return self.is_option and not self.metavar

    @property
    def destination(self) -> str:
        """The attribute that holds it after parsing."""
        return self.name.lstrip("-").replace("-", "_").lower()

    def usage(self) -> str:
        """Its piece of the usage line."""
        if self.rest:
            return f"[-- {self.name}]"
        if not self.is_option:
            name = f"{self.name}..." if self.many else self.name
            return f"[{name}]" if self.optional else name
        text = self.name if self.is_flag else f"{self.name} {self.metavar}"
        if self.tail:
            return f"[{text}...]"
        if self.required:
            return text
        return f"[{text}]..." if self.many else f"[{text}]"


class Run(Protocol):
    """What a command does; returns an exit status, None for success."""

    def __call__(self, context: Context, options: argparse.Namespace) -> int | None: ...


@dataclass(frozen=True)
class Command:
    """A verb."""

    name: str
    summary: str
    """One line, begins with a verb, ends with a full stop."""
    description: str
    arguments: tuple[Argument, ...]
    doors: tuple[Door, ...]
    needs: tuple[Need, ...]
    run: Run

    def arguments_at(self, door: Door) -> list[Argument]:
        """The arguments that this door takes."""
        return [argument for argument in self.arguments if door in argument.doors]

    def usage(self, door: Door) -> str:
        """The usage line, as `trace analyze [--function F]`."""
        prefix = "trace" if door == "gdb" else "gdbext"
        arguments = self.arguments_at(door)
        ordered = [a for a in arguments if not a.is_option and not a.rest]
        ordered += [a for a in arguments if a.is_option and not a.tail]
        ordered += [a for a in arguments if a.tail]
        ordered += [a for a in arguments if a.rest]
        return " ".join([prefix, self.name, *(argument.usage() for argument in ordered)])

    def help_text(self, door: Door) -> str:
        """Help in GDB's form: summary, usage line, description, arguments in capitals."""
        lines = [self.summary, *_folded(f"Usage: {self.usage(door)}"), ""]
        if self.description:
            lines += [self.description, ""]
        lines += argument_lines(self.arguments_at(door))
        return "\n".join(lines).rstrip()

    def parse(self, words: Sequence[str], door: Door) -> argparse.Namespace:
        """Parse the words after the verb.

        Raises:
            UsageError: they do not fit; the text names the help to read.
        """
        arguments = self.arguments_at(door)
        rest: list[str] = []
        words = list(words)
        rest_argument = next((argument for argument in arguments if argument.rest), None)
        if rest_argument is not None and "--" in words:
            cut = words.index("--")
            words, rest = words[:cut], words[cut + 1 :]
        tail: list[str] = []
        tail_argument = next((argument for argument in arguments if argument.tail), None)
        if tail_argument is not None and tail_argument.name in words:
            cut = words.index(tail_argument.name)
            words, tail = words[:cut], words[cut + 1 :]
        parser = _Parser(self, door)
        for argument in arguments:
            parser.add(argument)
        options = parser.parse_intermixed_args(words)
        if rest_argument is not None:
            setattr(options, rest_argument.destination, rest)
        if tail_argument is not None:
            setattr(options, tail_argument.destination, tail)
        # An argument of another door is never given, but the command may look at it.
        for argument in self.arguments:
            if not hasattr(options, argument.destination):
                missing: Any = False if argument.is_flag else [] if argument.many else None
                default = argument.default if argument.default is not None else missing
                setattr(options, argument.destination, default)
        return options


def argument_lines(arguments: Iterable[Argument]) -> list[str]:
    """A line or more for each argument, help aligned."""
    heads = [(f"-- {a.name}" if a.rest else f"{a.name} {a.metavar}".rstrip(), a) for a in arguments]
    width = min(max((len(head) for head, _ in heads), default=0), 24)
    lines = []
    for head, argument in heads:
        if len(head) > width:
            lines += [f"  {head}", f"  {'':{width}}  {argument.help}"]
        else:
            lines.append(f"  {head:{width}}  {argument.help}")
    return lines


def command(
    name: str,
    summary: str,
    *,
    description: str = "",
    arguments: Sequence[Argument] = (),
    doors: Sequence[Door] = ALL_DOORS,
    needs: Sequence[Need] = (),
) -> Callable[[Run], Run]:
    """Register the decorated function as a verb."""

    def register(run: Run) -> Run:
        made = Command(
            name, summary, description, tuple(arguments), tuple(doors), tuple(needs), run
        )
        for door in made.doors:
            assert (door, name) not in _COMMANDS, f"two commands named {name} at {door}"
            _COMMANDS[door, name] = made
        return run

    return register


def commands(door: Door) -> list[Command]:
    """The verbs of a door, by name."""
    _load_all()
    return sorted(
        (made for (at, _), made in _COMMANDS.items() if at == door), key=lambda made: made.name
    )


def find_command(name: str, door: Door) -> Command | None:
    """The verb with that name at that door."""
    if (door, name) not in _COMMANDS:
        # Most verbs have a module of their name: the others need not be loaded for it.
        own = _VERBS_ABOVE.get(name, f"gdbext.commands.{name.replace('-', '_')}")
        if re.fullmatch(r"[a-z][a-z-]*", name) and importlib.util.find_spec(own) is not None:
            importlib.import_module(own)
    if (door, name) not in _COMMANDS:
        _load_all()
    return _COMMANDS.get((door, name))


def _folded(usage: str) -> list[str]:
    """A usage line in lines of at most 100 columns; no argument is cut."""
    kept = re.sub(r"\[[^]]*]", lambda match: match[0].replace(" ", "\0"), usage)
    folded = textwrap.wrap(kept, 100, subsequent_indent=" " * 11, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in folded]


_COMMANDS: dict[tuple[Door, str], Command] = {}

# Verbs of rooms above this one; they are known by name only, so that imports go down.
_VERBS_ABOVE: Final = {"repl": "gdbext.repl.verb", "run": "gdbext.session.verb"}


def _load_all() -> None:
    """Import every module of the package, and those above: each registers its verb."""
    package = importlib.import_module("gdbext.commands")
    for module in pkgutil.iter_modules(package.__path__, "gdbext.commands."):
        importlib.import_module(module.name)
    for name in _VERBS_ABOVE.values():
        importlib.import_module(name)


class _Parser(argparse.ArgumentParser):
    """argparse that raises UsageError; it neither prints nor exits."""

    def __init__(self, made: Command, door: Door) -> None:
        super().__init__(prog=made.name, add_help=False, allow_abbrev=False)
        self._help = f"help trace {made.name}" if door == "gdb" else f"gdbext {made.name} --help"
        self._name = f"trace {made.name}" if door == "gdb" else made.name

    def add(self, argument: Argument) -> None:
        if argument.rest or argument.tail:
            return
        words: dict[str, Any] = {}
        if argument.is_flag:
            words["action"] = "store_true"
        else:
            words |= {"type": argument.parse, "default": argument.default}
            if argument.choices:
                words["choices"] = argument.choices
            if argument.many and argument.is_option:
                words |= {"action": "append", "default": []}
        if argument.is_option:
            words["dest"] = argument.destination
            if not argument.is_flag:
                words |= {"required": argument.required, "metavar": argument.metavar}
            self.add_argument(argument.name, **words)
        else:
            if argument.many:
                words["nargs"] = "*" if argument.optional else "+"
            elif argument.optional:
                words["nargs"] = "?"
            self.add_argument(argument.destination, metavar=argument.name, **words)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self._name}: {message}; see `{self._help}`")


def dispatch(made: Command, context: Context, words: Sequence[str]) -> int:
    """Parse, check what must be there, and run; the exit status."""
    options = made.parse(words, context.door)
    for need in made.needs:
        context.check(need)
    return made.run(context, options) or 0
