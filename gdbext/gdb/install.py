# SPDX-License-Identifier: GPL-2.0-or-later
"""Registering in GDB: the prefixes `trace` and `qtrace` with every verb, and the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gdb

from gdbext.api import use_session
from gdbext.commands.registry import commands, dispatch
from gdbext.errors import GdbextError
from gdbext.gdb.completion import complete
from gdbext.gdb.context import GdbContext
from gdbext.gdb.functions import register_functions
from gdbext.gdb.tracepoints import set_tracepoint

if TYPE_CHECKING:
    from gdbext.commands.registry import Command

__all__ = ["install"]

_PREFIX_HELP = """Record what the program executes in QEMU, and ask about it.
Usage: {name} COMMAND ...

{more}"""

_TRACE_MORE = """`trace LOCATION` with any other word sets a tracepoint as GDB alone does; so does
`tracepoint LOCATION` with every word, and `set gdbext override-trace off` makes `trace` do it."""


def install() -> None:
    """Register everything once; sourcing the loader again does nothing."""
    context = GdbContext()
    for prefix in ("trace", "qtrace"):
        _Prefix(prefix)
        for made in commands("gdb"):
            _Verb(prefix, made, context)
    # GDB's names for its own command: some go away with it, some would lead to ours.
    for name in ("tracepoint", "tp"):
        _Tracepoint(name)
    register_functions(context)
    use_session(context.workspace)
    _SettingsPrefix("set")
    _SettingsPrefix("show")
    _ControlParameter()
    _OverrideParameter()


class _Prefix(gdb.Command):  # type: ignore[misc]
    """`trace` or `qtrace` alone, or with a word that is no verb."""

    def __init__(self, name: str) -> None:
        more = _TRACE_MORE if name == "trace" else "The same as `trace`, under a name of its own."
        self.__doc__ = _PREFIX_HELP.format(name=name, more=more)
        self._name = name
        super().__init__(name, gdb.COMMAND_RUNNING, gdb.COMPLETE_LOCATION, True)

    def invoke(self, argument: str, from_tty: bool) -> None:
        if self._name == "trace":
            set_tracepoint(argument)
            return
        word = argument.split()[0] if argument.split() else ""
        if word:
            raise gdb.GdbError(f'Undefined {self._name} command: "{word}".  Try "help qtrace".')
        gdb.execute(f"help {self._name}")


class _Verb(gdb.Command):  # type: ignore[misc]
    """One verb below a prefix."""

    def __init__(self, prefix: str, made: Command, context: GdbContext) -> None:
        text = made.help_text("gdb")
        self.__doc__ = text.replace("Usage: trace ", f"Usage: {prefix} ")
        self._prefix, self._made, self._context = prefix, made, context
        super().__init__(f"{prefix} {made.name}", gdb.COMMAND_RUNNING)

    def invoke(self, argument: str, from_tty: bool) -> None:
        if self._prefix == "trace" and not gdb.parameter("gdbext override-trace"):
            set_tracepoint(f"{self._made.name} {argument}")
            return
        try:
            dispatch(self._made, self._context, gdb.string_to_argv(argument))
        except GdbextError as error:
            raise gdb.GdbError(str(error)) from error
        finally:
            # The end of a long answer stays in GDB's buffer, and the guest may print before it.
            gdb.flush()

    def complete(self, text: str, word: str | None) -> Any:
        return complete(self._made, text, word, self._context.elf())


class _Tracepoint(gdb.Command):  # type: ignore[misc]
    """Set a tracepoint at a location, as GDB's own `trace`.
    Usage: tracepoint [LOCATION] [-force-condition] [thread N] [if CONDITION]"""

    def __init__(self, name: str) -> None:
        self.__doc__ = (
            "Set a tracepoint at a location, as GDB's own `trace` does.\n"
            f"Usage: {name} [LOCATION] [-force-condition] [thread N] [if CONDITION]\n\n"
            "Without LOCATION, at the current instruction."
        )
        super().__init__(name, gdb.COMMAND_BREAKPOINTS, gdb.COMPLETE_LOCATION)

    def invoke(self, argument: str, from_tty: bool) -> None:
        set_tracepoint(argument)


class _SettingsPrefix(gdb.Command):  # type: ignore[misc]
    """`set gdbext` and `show gdbext`."""

    def __init__(self, verb: str) -> None:
        self.__doc__ = f"{verb.capitalize()} how the commands that record behave."
        self._verb = verb
        super().__init__(f"{verb} gdbext", gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE, True)

    def invoke(self, argument: str, from_tty: bool) -> None:
        if argument:
            raise gdb.GdbError(
                f'Undefined {self._verb} gdbext command: "{argument.split()[0]}".  '
                f'Try "help {self._verb} gdbext".'
            )
        if self._verb == "set":
            gdb.execute("help set gdbext")
            return
        gdb.execute("show gdbext control")
        gdb.execute("show gdbext override-trace")


class _ControlParameter(gdb.Parameter):  # type: ignore[misc]
    """The recorder's control socket, or the live directory that holds it.

    Empty: the recorder of the QEMU that GDB is connected to, or the only one that runs."""

    set_doc = "Set the control socket of the recorder."
    show_doc = "Show the control socket of the recorder."

    def __init__(self) -> None:
        super().__init__("gdbext control", gdb.COMMAND_RUNNING, gdb.PARAM_OPTIONAL_FILENAME)

    def get_set_string(self) -> str:
        return ""

    def get_show_string(self, value: str) -> str:
        if not value:
            return "The recorder is that of the QEMU that GDB is connected to."
        return f'The control socket of the recorder is "{value}".'


class _OverrideParameter(gdb.Parameter):  # type: ignore[misc]
    """On: `trace start` and the other verbs record. Off: `trace` is GDB's own; use `qtrace`."""

    set_doc = "Set whether `trace` takes the verbs that record."
    show_doc = "Show whether `trace` takes the verbs that record."

    def __init__(self) -> None:
        super().__init__("gdbext override-trace", gdb.COMMAND_RUNNING, gdb.PARAM_BOOLEAN)
        self.value = True

    def get_set_string(self) -> str:
        return ""

    def get_show_string(self, value: str) -> str:
        return f"Whether `trace` takes the verbs that record is {value}."
