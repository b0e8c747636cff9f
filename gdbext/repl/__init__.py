# SPDX-License-Identifier: GPL-2.0-or-later
"""The interactive door: a prompt over a real GDB that is driven through its machine interface."""
