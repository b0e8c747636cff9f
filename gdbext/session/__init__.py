# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripted debugging sessions: YAML files with steps and expectations (docs/sessions.md)."""
