# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as text for people: tables and lines, bounded, plain where they are piped."""
