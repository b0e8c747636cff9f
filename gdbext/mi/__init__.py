# SPDX-License-Identifier: GPL-2.0-or-later
"""Driving a real GDB over its machine interface (MI), with the QEMU it debugs."""
