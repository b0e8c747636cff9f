# SPDX-License-Identifier: GPL-2.0-or-later
"""What an unmodified firmware really executed under QEMU, told from inside GDB."""

__version__ = "0.1.0"
