# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU as a process: boards, starting it, and talking to the recorder inside it."""
