# SPDX-License-Identifier: GPL-2.0-or-later
"""doctor: what was found on this machine, and what does not work for want of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gdbext.commands._options import JSON
from gdbext.commands.context import print_json
from gdbext.commands.registry import command
from gdbext.target.control import discover
from gdbext.target.doctor import examine, render
from gdbext.target.runtime import runtime_root

if TYPE_CHECKING:
    import argparse

    from gdbext.commands.context import Context


@command(
    "doctor",
    "Tell what was found (QEMU, GDB, tools) and what does not work for want of the rest.",
    description="The exit status is 1 if nothing can be recorded or analysed.",
    arguments=[JSON],
    doors=["cli"],
)
def doctor(context: Context, options: argparse.Namespace) -> int:
    """Print the findings; 1 if something needed is missing."""
    report = examine()
    running = [str(session.directory) for session in discover()]
    left = _left_behind(running)
    if options.json:
        content = _plain(asdict(report))
        content |= {"works": report.works, "running": running, "left_behind": left}
        print_json(context, "doctor", content)
    else:
        context.page.line(render(report))
        for directory in running:
            context.page.line(f"A recorder runs: {directory}")
        for directory in left:
            context.page.line(f"Not in use, may be removed: {directory}")
    return 0 if report.works else 1


def _left_behind(running: list[str]) -> list[str]:
    """Session directories whose QEMU does not run."""
    root = runtime_root()
    if not root.is_dir():
        return []
    return [str(path) for path in sorted(root.iterdir()) if str(path) not in running]


def _plain(value: Any) -> Any:
    """The value with paths as text, for JSON."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
