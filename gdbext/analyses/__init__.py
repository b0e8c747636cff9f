# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions asked of a replay: pure functions from its tables and symbols to dataclasses."""
