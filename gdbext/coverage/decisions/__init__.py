# SPDX-License-Identifier: GPL-2.0-or-later
"""Decisions of the source: their conditions, the branches that are proven to be them, MC/DC."""
