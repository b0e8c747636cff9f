# SPDX-License-Identifier: GPL-2.0-or-later
"""What GDB's session lends to a command: the program, the recorder, the recording in work."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import gdb

from gdbext.commands.context import Context, open_workspace
from gdbext.errors import ControlError, UsageError
from gdbext.gdb.connection import connection_number, recorder_of_connection
from gdbext.gdb.stopping import StopWatch
from gdbext.render.page import Page
from gdbext.target.control import ControlClient

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from gdbext.analyses.counters import Counters
    from gdbext.analyses.workspace import Workspace
    from gdbext.commands.context import Need

__all__ = ["GdbContext"]


class GdbContext(Context):
    """One for the whole session: it remembers the recording in work."""

    door: Literal["gdb"] = "gdb"

    def __init__(self) -> None:
        self._watch = StopWatch(self.workspace)
        self._loaded: Path | None = None
        self._loaded_elf: Path | None = None
        self._live: Path | None = None
        self._live_of: int | None = None
        """Number of the connection that `_live` was found by."""
        self._workspace: Workspace | None = None
        self._workspace_of: tuple[Path, Path | None] | None = None

    @property
    def page(self) -> Page:  # type: ignore[override]
        """A page as wide as GDB's screen; GDB itself stops at its height."""
        # GDB itself styles only what goes to a terminal, and nothing after `set style enabled off`.
        colour = bool(gdb.parameter("style enabled")) and os.isatty(1)
        return Page(gdb.write, width=gdb.parameter("width") or None, colour=colour)

    def workspace(self, options: argparse.Namespace | None = None) -> Workspace:
        """The recording in work, brought up to date."""
        workspace = self._refreshed()
        if not workspace.counters.instructions():
            raise UsageError("nothing is recorded yet: `trace start`, then let the program run")
        return workspace

    def counters(self) -> Counters:
        """Single numbers about the recording in work, brought up to date.

        Raises:
            GdbextError: there is no recording, or its program is not known.
        """
        return self._refreshed().counters

    def stopped_at(self) -> int | None:
        """Where the selected thread stands."""
        thread = gdb.selected_thread()
        if self._loaded is not None or thread is None or not thread.is_stopped():
            return None
        return int(gdb.newest_frame().pc())

    def read_memory(self, address: int, size: int) -> bytes | None:
        """The guest's memory, while it stands."""
        try:
            return bytes(gdb.selected_inferior().read_memory(address, size))
        except gdb.error:
            # It runs, has ended, or has no memory there.
            return None

    def control(self) -> ControlClient:
        """A client of the recorder that `set gdbext control` names, or that serves our target."""
        client = ControlClient(self._live_directory() / "control")
        client.connect()
        return client

    def check(self, need: Need) -> None:
        """Raise what is missing."""
        if need == "recorder":
            self.control().close()
        else:
            self.recording_path()

    def load(self, path: Path | None, elf: Path | None) -> None:
        """Work on that file from now on, or on the target again."""
        if path is None:
            self._loaded = self._loaded_elf = None
            return
        # Opened before it is taken: a bad file leaves the session as it was.
        program = elf or _program()
        workspace = open_workspace(path, program)
        workspace.refresh()
        self._loaded, self._loaded_elf = path, elf
        self._workspace, self._workspace_of = workspace, (path, program)

    def loaded(self) -> Path | None:
        """The saved recording in work."""
        return self._loaded

    def recording_path(self) -> Path:
        """The loaded file, or the live directory, also of a QEMU that has ended."""
        if self._loaded is not None:
            return self._loaded
        directory = self._live_directory()
        if not (directory / "stream").exists():
            raise UsageError(
                f"{directory}: nothing is recorded here; `trace load FILE` opens a recording"
            )
        return directory

    def stop_condition(self, text: str, places: Mapping[int, str]) -> None:
        """The recorder has a stop condition now: stop the program when it has hit."""
        self._watch.begin(self._live_directory(), text, places)

    def elf(self) -> Path | None:
        """The program given to `trace load`, else GDB's."""
        return self._loaded_elf or _program()

    def _refreshed(self) -> Workspace:
        key = (self.recording_path(), self.elf())
        if self._workspace is None or self._workspace_of != key:
            self._workspace, self._workspace_of = open_workspace(*key), key
        if self._loaded is None:
            self._publish()
        try:
            self._workspace.refresh()
        except BaseException:
            # Interrupted half-way (Ctrl-C): begin again next time.
            self._workspace = None
            raise
        return self._workspace

    def _publish(self) -> None:
        """Have the recorder tell how far the very last block got."""
        try:
            with self.control() as client:
                client.sync()
        except ControlError:
            # QEMU has ended: what it left is all there is.
            pass

    def _live_directory(self) -> Path:
        named = gdb.parameter("gdbext control")
        if named:
            path = Path(named).expanduser()
            self._live, self._live_of = path if path.is_dir() else path.parent, None
            return self._live
        connection = connection_number()
        if connection is not None and connection == self._live_of and self._live is not None:
            return self._live
        self._live_of = None
        try:
            self._live = recorder_of_connection().directory
            self._live_of = connection
        except ControlError:
            # Its QEMU may have ended; what it recorded can still be asked about.
            if self._live is None or not (self._live / "stream").exists():
                raise
        return self._live


def _program() -> Path | None:
    name = gdb.current_progspace().filename
    return Path(name) if name else None
