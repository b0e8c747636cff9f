# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands of the demo, shown as if typed. Run by GDB: scripts/demo."""

from __future__ import annotations

import os

import gdb

RECORDING = os.environ["GDBEXT_DEMO_RECORDING"]

COMMANDS = (
    "trace start",
    "break malloc if size_bytes > 20",
    "continue",
    "continue",
    "trace callers malloc",
    "delete",
    "continue",
    "trace analyze --top 6",
    "trace analyze --function malloc",
    "trace analyze --function gx_timer_tick",
    "trace last 6",
    f"trace dump {RECORDING}",
)

gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("set width 100")
for command in COMMANDS:
    print(f"(gdb) {command.replace(RECORDING, 'station.rec')}", flush=True)
    gdb.execute(command)
