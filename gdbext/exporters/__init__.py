# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as files of other tools' formats, one format a module."""
