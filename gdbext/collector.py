# SPDX-License-Identifier: GPL-2.0-or-later
"""Python's cycle collector, held back where many objects are made that all live on."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for cycles within: it goes through all objects again and again, and takes as long
    as making them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
