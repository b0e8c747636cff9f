# SPDX-License-Identifier: GPL-2.0-or-later
"""The keys of a session file, their shapes and what they mean: for checks, schema and docs."""

from __future__ import annotations

from typing import Any, Final

from gdbext.commands.export import FORMATS as EXPORT_FORMATS
from gdbext.errors import ConfigError, UsageError
from gdbext.session.document import Node, error_at
from gdbext.session.expressions import parse_expression
from gdbext.session.questions import check_questions
from gdbext.session.shapes import (
    Choice,
    Flag,
    Key,
    Keys,
    ListOf,
    Named,
    Nothing,
    OneOf,
    Plain,
    Real,
    Shape,
    Text,
    Whole,
    nearest,
)

__all__ = ["SESSION", "STEPS", "json_schema"]


def _check_expression(text: str) -> None:
    try:
        check_questions(parse_expression(text))
    except UsageError as error:
        raise ValueError(str(error)) from None


def _check_bytes(text: str) -> None:
    try:
        bytes.fromhex(text)
    except ValueError:
        raise ValueError(f"'{text}' is no list of bytes; write such as 'de ad 00 2a'") from None


_TIMEOUT: Final = Key(Real("a time in seconds"), "Seconds it may take; else the session's limit.")
_SAVE: Final = Key(Text("a file name"), "File for the answer, in the artifacts folder.")
_EXPRESSION: Final = Text("an expectation, such as 'calls(f) > 0'", check=_check_expression)

_BREAK: Final = Keys(
    {
        "at": Key(
            Text("a location", numbers=True), "Where: function, FILE:LINE or *ADDRESS.", True
        ),
        "if": Key(Text("a condition", numbers=True), "Stop only if this GDB expression is not 0."),
        "temporary": Key(Flag(), "Gone after its first stop."),
        "hardware": Key(Flag(), "A hardware breakpoint."),
        "ignore": Key(Whole("a count", least=0), "Hits that are passed over."),
    }
)
_WATCH: Final = Keys(
    {
        "expression": Key(Text("an expression", numbers=True), "What to watch.", True),
        "access": Key(Choice("write", "read", "any"), "Which accesses stop (default write)."),
        "if": Key(Text("a condition", numbers=True), "Stop only if this GDB expression is not 0."),
    }
)
_GOALS: Final = {
    "function": Key(Text("a function"), "Its first instruction."),
    "line": Key(Text("FILE:LINE"), "A source line."),
    "address": Key(OneOf(Whole("an address"), Text("an address")), "An instruction."),
    "console": Key(Text("a text", numbers=True), "A text that the guest writes next."),
    "console-matches": Key(Text("a regular expression"), "What the guest writes next matches it."),
    "insns": Key(
        OneOf(Whole("a count", least=1), Text("a count such as 20M")),
        "So many recorded instructions, or some more; it must record.",
    ),
    "seconds": Key(Real("a time in seconds"), "So much time of the host."),
    "exit": Key(OneOf(Flag(), Whole("an exit status")), "The program's end, with that status."),
}
_RUN_UNTIL: Final = Keys({**_GOALS, "timeout_s": _TIMEOUT}, one_of=tuple(_GOALS))
_STEP: Final = Keys(
    {
        "by": Key(
            Choice("line", "insn", "over", "over-insn", "out"),
            "Into calls by line (default) or instruction, over them, or out of the function.",
        ),
        "count": Key(Whole("a count", least=1), "How many steps."),
        "timeout_s": _TIMEOUT,
    }
)
_EVAL: Final = Keys(
    {
        "expression": Key(Text("an expression", numbers=True), "In GDB's language.", True),
        "as": Key(Text("a name"), "Name of its value in expectations that follow."),
    }
)
_SET: Final = Keys(
    {
        "variable": Key(Text("a variable"), "What to assign to: an expression or $register."),
        "value": Key(Plain("a value"), "The new value, an expression in GDB's language."),
        "address": Key(
            OneOf(Whole("an address"), Text("an address")),
            "Memory to write; an expression will do.",
        ),
        "bytes": Key(Text("bytes in hexadecimal", check=_check_bytes), "What to write there."),
    },
    one_of=("variable", "address"),
)
_COMMAND: Final = Keys(
    {
        "command": Key(Text("a command"), "The command.", True),
        "save": _SAVE,
        "timeout_s": _TIMEOUT,
    }
)
_ANALYZE: Final = Keys(
    {
        "function": Key(Text("a function", numbers=True), "All about it; else totals."),
        "top": Key(Whole("a count", least=1), "Rows in each table."),
        "save": _SAVE,
    }
)
_FILTERS: Final = {
    "include": Key(ListOf(Text("a pattern")), "Only source files of these patterns."),
    "exclude": Key(ListOf(Text("a pattern")), "No source files of these patterns."),
}
_COVERAGE: Final = Keys(
    {
        "of": Key(Text("a function or file"), "Only this."),
        **_FILTERS,
        "save": _SAVE,
    }
)
_EXPORT: Final = Keys(
    {
        "format": Key(Choice(*EXPORT_FORMATS), "What `trace export --format` takes.", True),
        "file": Key(Text("a file name"), "In the artifacts folder.", True),
        **_FILTERS,
    }
)
_EXPECT: Final = Keys(
    {
        "that": Key(_EXPRESSION, "The expectation.", True),
        "because": Key(Text("a text"), "Told when it does not hold."),
    }
)

STEPS: Final[dict[str, Key]] = {
    "trace": Key(
        OneOf(Text("a trace command"), _COMMAND),
        "A command below `trace`: start, stop, clear, or any other, as `callers malloc`.",
    ),
    "break": Key(OneOf(Text("a location"), _BREAK), "Set a breakpoint."),
    "watch": Key(OneOf(Text("an expression"), _WATCH), "Set a watchpoint."),
    "delete": Key(
        OneOf(Nothing(), Whole("a breakpoint's number", least=1), Choice("all")),
        "Delete a breakpoint by its number, or all of them.",
    ),
    "continue": Key(
        OneOf(
            Nothing(),
            Whole("a count", least=1),
            Keys({"times": Key(Whole("a count", least=1), "How often."), "timeout_s": _TIMEOUT}),
        ),
        "Run until the next stop, or the end.",
    ),
    "run-until": Key(_RUN_UNTIL, "Run until something happens; any other stop is a failure."),
    "step": Key(
        OneOf(Nothing(), Whole("a count", least=1), _STEP), "Run by lines or instructions."
    ),
    "eval": Key(OneOf(Text("an expression", numbers=True), _EVAL), "Evaluate in GDB's language."),
    "set": Key(_SET, "Write a variable, a register, or memory."),
    "input": Key(Text("a text", numbers=True), "Type to the guest's serial port."),
    "reset": Key(
        OneOf(Nothing(), Flag()), "Reset the machine; it stands at its first instruction."
    ),
    "analyze": Key(OneOf(Nothing(), Text("a function"), _ANALYZE), "As `trace analyze`."),
    "coverage": Key(
        OneOf(Nothing(), Text("a function or file"), _COVERAGE), "As `trace coverage`."
    ),
    "export": Key(_EXPORT, "As `trace export`."),
    "dump": Key(Text("a file name"), "Save the recording in the artifacts folder."),
    "expect": Key(
        OneOf(_EXPRESSION, ListOf(_EXPRESSION, least=1), _EXPECT),
        "What must hold now; the session ends where one does not.",
    ),
    "gdb": Key(OneOf(Text("a GDB command"), _COMMAND), "Any command of GDB's."),
}


class _Step(Shape):
    """A step: a mapping with one key, or a word alone; read as `(word, value)`."""

    wanted = "a step, such as 'continue' or 'break: main'"

    def __init__(self) -> None:
        self._keys = Keys(STEPS, exactly_one=True, wanted=self.wanted)
        self.bare = tuple(word for word, key in STEPS.items() if _may_be_empty(key))

    def fits(self, node: Node) -> bool:
        return self._keys.fits(node) or Text().fits(node)

    def read(self, node: Node, name: str) -> tuple[str, Any, int]:
        if Text().fits(node):
            word = Text().read(node, name)
            if word not in self.bare:
                raise _unknown_step(node, word)
            return word, None, node.line
        [(word, value)] = self._keys.read(node, "a step").items()
        return word, value, node.line

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(self.bare)}, self._keys.schema()]}


def _unknown_step(node: Node, word: str) -> ConfigError:
    if word in STEPS:
        return error_at(node, f"step '{word}' needs a value: {STEPS[word].shape.wanted}")
    return error_at(node, f"unknown step '{word}'{nearest(word, STEPS)}")


def _may_be_empty(key: Key) -> bool:
    schema = key.shape.schema()
    return {"type": "null"} in schema.get("anyOf", [])


_SCALAR: Final = Plain("a text, a number or true or false")
_TEXTS: Final = OneOf(ListOf(Text("a text", numbers=True)), Text("a text"))

SESSION: Final = Keys(
    {
        "name": Key(Text("a text"), "Name in reports (default: the file's)."),
        "firmware": Key(Text("a file name"), "The ELF file, relative to the session's file."),
        "board": Key(Text("a board"), "As `gdbext boards` lists them, or a board's YAML file."),
        "qemu": Key(
            ListOf(Text("a text", numbers=True), least=1),
            "QEMU's command line instead of a board; {elf} stands for the firmware.",
        ),
        "qemu-args": Key(_TEXTS, "Arguments added to QEMU's."),
        "symbols": Key(
            ListOf(Text("a file name, or FILE@ADDRESS")),
            "ELF files that run beside the firmware, relative to the session's file.",
        ),
        "attach": Key(
            Text("HOST:PORT"), "A QEMU that runs, instead of a board: where it serves GDB."
        ),
        "control": Key(
            Text("a file name"), "With `attach`: the recorder's socket, relative to this file."
        ),
        "gdb-architecture": Key(
            Text("a text"), "For GDB's `set architecture`, with `qemu` or `attach`."
        ),
        "timeout_s": Key(Real("a time in seconds"), "For the whole session (default 300)."),
        "variables": Key(Named(_SCALAR, "names with values"), "Values for `${name}`."),
        "matrix": Key(
            Named(ListOf(_SCALAR, least=1), "names with lists of values"),
            "Run once for each combination; names: firmware, board, or a variable's.",
        ),
        "save-recording": Key(
            Choice("always", "on-failure", "never"),
            "Whether the recording goes to the artifacts folder (default on-failure).",
        ),
        "steps": Key(ListOf(_Step(), least=1), "What to do, in order.", True),
    },
    wanted="keys such as 'firmware', 'board' and 'steps'",
)


def json_schema() -> dict[str, Any]:
    """The JSON schema of session files, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gdbext session",
        "description": "A scripted debugging session for `gdbext run`.",
        **SESSION.schema(),
    }
