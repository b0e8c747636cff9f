# SPDX-License-Identifier: GPL-2.0-or-later
"""What gdbext costs: slowdown, size on disk, memory, and how fast the answers come.

`python -m tests.bench` (or `make bench`) measures and prints the table. Every ratio is of runs that
took turns in one go, see `pairing`.
"""
