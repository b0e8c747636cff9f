# SPDX-License-Identifier: GPL-2.0-or-later
"""The prompt in a terminal: completion, history, colours, and what happens while one types."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app, get_app_or_none
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.patch_stdout import patch_stdout

from gdbext.errors import GdbextError
from gdbext.repl.blocks import is_open
from gdbext.repl.completer import GdbCompleter
from gdbext.repl.lexer import CommandLexer
from gdbext.repl.shell import OWN_COMMANDS, Shell
from gdbext.repl.status import StatusLine

if TYPE_CHECKING:
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyPressEvent

__all__ = ["converse", "history_path"]

_PROMPT: Final = "(gdbext) "
_REFRESH_S: Final = 0.5


def converse(shell: Shell) -> int:
    """Read and do lines until the user quits; the exit status."""
    status = StatusLine(shell.session)
    prompt: PromptSession[str] = PromptSession(
        history=_history(),
        completer=GdbCompleter(lambda: shell.session.debugger, OWN_COMMANDS),
        complete_while_typing=False,
        lexer=CommandLexer(),
        key_bindings=_bindings(shell),
        multiline=Condition(lambda: is_open(get_app().current_buffer.document.text)),
        prompt_continuation=lambda width, _line, _wrapped: ">".rjust(width - 1) + " ",
        bottom_toolbar=status.text,
        refresh_interval=_REFRESH_S,
        enable_open_in_editor=True,
    )
    width = 0
    while shell.exit_status is None:
        status.forget()
        shell.screen.flush_guest()
        shell.screen.line_start()
        shell.tell_ends()
        try:
            with patch_stdout(raw=True):
                text = prompt.prompt(_PROMPT, pre_run=lambda: _serve(shell))
        except EOFError:
            return 0
        except KeyboardInterrupt:
            continue
        columns = prompt.output.get_size().columns
        if columns != width and shell.session.debugger.is_listening:
            width = columns
            # GDB is dead: the command that follows tells.
            with suppress(GdbextError):
                shell.session.debugger.command(f"-gdb-set width {width}")
        try:
            shell.execute(text)
        except GdbextError as error:
            shell.screen.error(str(error))
    return shell.exit_status


def history_path() -> Path:
    """Where the lines typed are kept: $XDG_STATE_HOME/gdbext/history, below ~/.local/state."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "gdbext" / "history"


def _history() -> History:
    path = history_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError:
        # A home that cannot be written: the lines are kept for this session.
        return InMemoryHistory()
    return FileHistory(str(path))


def _serve(shell: Shell) -> None:
    """Have the prompt's event loop serve GDB and the guest, as long as it asks."""
    loop = asyncio.get_running_loop()
    for descriptor, reader in shell.readers().items():

        def serve(descriptor: int = descriptor, reader: object = reader) -> None:
            assert callable(reader)
            reader()
            if descriptor not in shell.session.loop.readers():
                loop.remove_reader(descriptor)
            app = get_app_or_none()
            if app is not None:
                app.invalidate()

        loop.add_reader(descriptor, serve)


def _bindings(shell: Shell) -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("c-c")
    @bindings.add("<sigint>")
    def interrupt(event: KeyPressEvent) -> None:
        """Stop the running program; else drop what was typed."""
        if shell.session.debugger.state == "running":
            shell.session.debugger.interrupt_at_once()
        else:
            event.app.current_buffer.reset()

    return bindings
