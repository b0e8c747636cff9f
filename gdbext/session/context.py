# SPDX-License-Identifier: GPL-2.0-or-later
"""What a scripted session lends to a command of the registry, instead of GDB."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Literal

from gdbext.commands.context import Context, Need, open_workspace
from gdbext.commands.registry import commands, dispatch, find_command
from gdbext.errors import ControlError, UsageError
from gdbext.render.page import Page
from gdbext.session.shapes import nearest
from gdbext.target.control import ControlClient

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gdbext.analyses.workspace import Workspace

__all__ = ["RecordingContext"]


class RecordingContext(Context):
    """The live recording of one QEMU; its commands are those below `trace` in GDB."""

    door: Literal["gdb"] = "gdb"

    def __init__(self, directory: Path, elf: Path, stopped_at: Callable[[], int | None]) -> None:
        """Args: directory: of the live recording, which may outlive its QEMU."""
        self._directory = directory
        self._elf = elf
        self._stopped_at = stopped_at
        self._workspace: Workspace | None = None
        self._text: list[str] = []
        self.page = Page(self._text.append, width=100)

    def run(self, words: Sequence[str] | str) -> str:
        """Run a command, as `["callers", "malloc"]` or as one text; what it printed.

        Raises:
            UsageError: there is no such command, or its words are wrong.
            GdbextError: what the command raises.
        """
        try:
            words = shlex.split(words) if isinstance(words, str) else list(words)
        except ValueError as error:
            raise UsageError(f"trace {words}: {error}") from None
        if words[:1] == ["trace"]:
            words = words[1:]
        made = find_command(words[0], "gdb") if words else None
        if made is None:
            verb = words[0] if words else ""
            known = [command.name for command in commands("gdb")]
            hint = nearest(verb, known) or f"; commands: {', '.join(known)}"
            raise UsageError(f"no command `trace {verb}`{hint}")
        self._text.clear()
        dispatch(made, self, words[1:])
        return "".join(self._text)

    def workspace(self, options: argparse.Namespace | None = None) -> Workspace:
        """The recording with its symbols, brought up to date.

        Raises:
            UsageError: nothing is recorded yet.
        """
        self.check("recording")
        if self._workspace is None:
            self._workspace = open_workspace(self._directory, self._elf)
        try:
            with self.control() as client:
                client.sync()
        except ControlError:
            # QEMU has ended: what it left is all there is.
            pass
        self._workspace.refresh()
        if not self._workspace.program.tables.instructions:
            raise UsageError("nothing is recorded yet: `trace: start`, then let the program run")
        return self._workspace

    def control(self) -> ControlClient:
        """A client of the recorder."""
        return ControlClient(self._directory / "control")

    def check(self, need: Need) -> None:
        """Raise what is missing."""
        if need == "recorder":
            with self.control() as client:
                client.connect()
        elif not (self._directory / "stream").exists():
            raise UsageError("nothing is recorded yet: `trace: start`, then let the program run")

    def load(self, path: Path | None, elf: Path | None) -> None:
        """Only the live recording: a session has no other."""
        if path is not None:
            raise UsageError(f"{path}: a scripted session works on its own recording only")

    def recording_path(self) -> Path:
        """The live directory."""
        return self._directory

    def stopped_at(self) -> int | None:
        """Where the program stands."""
        return self._stopped_at()

    def elf(self) -> Path:
        """The program."""
        return self._elf
