# SPDX-License-Identifier: GPL-2.0-or-later
"""What several tests share: firmware built on demand, and the QEMUs of this machine."""

from __future__ import annotations
