# SPDX-License-Identifier: GPL-2.0-or-later
"""Which instructions, lines, functions and branches of a program ran, and how often.

What ran (`execution`) and what there is (`code`, the line table) are joined by `measure` into the
model that everything else reads (`model`).
"""
