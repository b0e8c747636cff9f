# SPDX-License-Identifier: GPL-2.0-or-later
"""The verbs, one a file; the registry serves them to GDB, the command line and other doors."""
