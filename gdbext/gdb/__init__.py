# SPDX-License-Identifier: GPL-2.0-or-later
"""The door inside GDB, the only place that imports `gdb`. Importing it registers the commands.

Users source `load.py`, which finds the package and imports this.
"""

from __future__ import annotations

from gdbext.gdb.install import install

install()
