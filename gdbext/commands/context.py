# SPDX-License-Identifier: GPL-2.0-or-later
"""What a door lends to a command: where to print, which recording, which recorder."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

from gdbext.errors import UsageError
from gdbext.target.boot import read_launch_meta

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from gdbext.analyses.workspace import Workspace
    from gdbext.placed import PlacedElf
    from gdbext.render.page import Page
    from gdbext.target.control import ControlClient

__all__ = ["Context", "Door", "Need", "open_workspace", "print_json", "tell", "tell_entry"]

Door = Literal["cli", "gdb"]
Need = Literal["recorder", "recording"]
"""What must be there before a command runs: a QEMU with the plugin; something recorded."""


class Context(ABC):
    """One door's side of a command."""

    door: Door
    page: Page

    @abstractmethod
    def workspace(self, options: argparse.Namespace) -> Workspace:
        """The recording in work with its symbols, brought up to date."""

    def asked(self, options: argparse.Namespace) -> Workspace:
        """The same, for an answer that does not say itself what a filter left out: say it here."""
        workspace = self.workspace(options)
        note = workspace.filtered.note
        if note and not (self.door == "gdb" and getattr(options, "json", False)):
            tell(self, note)
        return workspace

    @abstractmethod
    def control(self) -> ControlClient:
        """A client of the recorder in the running QEMU.

        Raises:
            ControlError: there is none, or more than one to choose from.
        """

    @abstractmethod
    def check(self, need: Need) -> None:
        """Raise the error that says what is missing, if `need` is not met."""

    def load(self, path: Path | None, elf: Path | None) -> None:
        """Work on a saved recording from now on; None: on the running target again."""
        raise UsageError("only a session can load a recording")

    def loaded(self) -> Path | None:
        """The saved recording that was loaded in this session; None: on the running target."""
        return None

    def recording_path(self) -> Path:
        """The recording in work: a file, or the live directory."""
        raise UsageError("only a session has a recording in work")

    def stopped_at(self) -> int | None:
        """The address where the guest stands; None if it runs, or there is no guest."""
        return None

    def read_memory(self, address: int, size: int) -> bytes | None:
        """The guest's memory as it is now; None where it cannot be read."""
        return None

    def stop_condition(self, text: str, places: Mapping[int, str]) -> None:
        """The recorder has a stop condition now: stop the program when it has hit.

        Args:
            text: the condition in words.
            places: names by address, of the instructions that it waits for.
        """
        raise UsageError("only GDB can stop the program at a condition")

    def elf(self) -> Path | None:
        """The ELF file of the session, if there is one."""
        return None


def open_workspace(
    recording: Path,
    elf: Path | None,
    progress: Callable[[float], None] | None = None,
    others: Sequence[PlacedElf] = (),
) -> Workspace:
    """A workspace on a file or a live directory, with what the launcher knows of the latter.

    Args:
        others: ELF files beside the program; none: those that the recording names.
    """
    # Only now: loading it takes longer than all else, and many commands need none of it.
    from gdbext.analyses.workspace import Workspace

    meta = read_launch_meta(recording) if recording.is_dir() else None
    return Workspace(recording, elf, progress, meta, others)


def print_json(context: Context, verb: str, content: dict[str, Any]) -> None:
    """Print a result as JSON; it begins with its schema, `gdbext/VERB/1`."""
    text = json.dumps({"schema": f"gdbext/{verb}/1", **content}, indent=2)
    context.page.line(text)


def tell(context: Context, text: str) -> None:
    """Say what else was done: on standard error outside GDB, where the output may be JSON."""
    if context.door == "gdb":
        context.page.line(text)
    else:
        print(f"gdbext: {text}", file=sys.stderr)


def tell_entry(context: Context, function: int) -> None:
    """At a breakpoint on a function's first instruction, say that this call is not counted yet."""
    if context.stopped_at() == function:
        context.page.line("stopped before its first instruction: this call is not counted yet")
