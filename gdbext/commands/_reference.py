# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/commands.md from the registry: `python -m gdbext.commands._reference > docs/commands.md`."""

from __future__ import annotations

import sys
from typing import Final

from gdbext.commands.context import Door
from gdbext.commands.registry import argument_lines, commands

__all__ = ["reference"]

_HEAD: Final = """\
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- Made from the command registry by `python -m gdbext.commands._reference`; a test compares. -->
# Commands

A function is named `NAME`, `FILE:NAME` (statics share names) or `0xADDRESS`. Counts may be
written `500`, `20k`, `1.5M`, `1G`; times `90`, `1.5`, `2m`, `1h`. With `--json` a command prints
one JSON object that begins with its schema, `"schema": "gdbext/VERB/1"`, the same from GDB and
from the command line; [json.md](json.md) has the keys.
"""

_GDB: Final = """\
## In GDB

Load them with `source .../gdbext/gdb/load.py`; `gdbext debug` does so itself, and `gdbext
qemu-args` prints the line. `qtrace` is another name for `trace`.

GDB's own `trace LOCATION` keeps working for every word that is not one of these (or the beginning
of one), and `tracepoint LOCATION` for every word.

| setting | default | meaning |
|---|---|---|
| `set gdbext control PATH` | empty | The recorder's socket; empty: that of the connected QEMU. |
| `set gdbext override-trace off` | on | Off: `trace` is GDB's own; `qtrace` records. |

In expressions and conditions: `$trace_calls("F")`, `$trace_covered("F")`, `$trace_irqs("H")`,
`$trace_insns()`; see [breakpoints.md](breakpoints.md).
"""

_CLI: Final = """\
## On the command line

An error is one line on standard error, with exit status 1, or 2 for a wrong command line.
`gdbext record` returns the guest's own exit status, 124 for its time limit, 125 for a failure of
ours, and 128 plus the signal's number if it was interrupted. `--traceback`, or
`GDBEXT_TRACEBACK=1`, shows where in gdbext an error arose.

| variable | meaning |
|---|---|
| `GDBEXT_CONFIG` | Folders whose `boards/` are searched before gdbext's own, separated by colons. |
| `GDBEXT_QEMU_DIR` | Folder of the QEMU programs to use before those in `PATH`. |
| `GDB` | The GDB that `gdbext debug` starts, before `gdb-multiarch` and `gdb`. |
| `XDG_RUNTIME_DIR` | Live recordings and sockets lie in `gdbext-UID/` below it (default `/tmp`). |
| `NO_COLOR` | No colour on a terminal. |
"""


def reference() -> str:
    """The page as Markdown."""
    return "\n".join([_HEAD, _GDB, *_sections("gdb"), _CLI, *_sections("cli")]).rstrip() + "\n"


def _sections(door: Door) -> list[str]:
    prefix = "trace" if door == "gdb" else "gdbext"
    sections = []
    for made in commands(door):
        lines = [f"### {prefix} {made.name}", "", made.summary, "", "```", made.usage(door)]
        arguments = argument_lines(made.arguments_at(door))
        lines += ["", *arguments] if arguments else []
        lines += ["```", ""]
        if made.description:
            lines += [made.description, ""]
        sections.append("\n".join(lines))
    return sections


if __name__ == "__main__":
    sys.stdout.write(reference())
