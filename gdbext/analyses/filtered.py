# SPDX-License-Identifier: GPL-2.0-or-later
"""What filters and triggers left out of a recording."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdbext.replay.tables import Stats

__all__ = ["Filtered", "filtered_of"]


@dataclass(frozen=True)
class Filtered:
    """What was left out: `n_insns` in `n_blocks`, at `count` places.

    Attributes:
        filters: those that were set while it was recorded, in the words of `start`.
    """

    filters: tuple[str, ...]
    count: int
    n_blocks: int
    n_insns: int

    def __bool__(self) -> bool:
        """Whether not everything was to be recorded."""
        return bool(self.filters) or self.count > 0

    @property
    def note(self) -> str | None:
        """One line that says so; None if everything was to be recorded."""
        if not self:
            return None
        return (
            f"filtered by {'; '.join(self.filters) or 'the recorder'}: {self.n_insns:,} "
            f"instructions in {self.n_blocks:,} blocks ran outside and are not counted; nothing is "
            "known of code outside"
        )

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return {**asdict(self), "filters": list(self.filters)}


def filtered_of(meta: Mapping[str, Any], stats: Stats) -> Filtered:
    """What a recording's META and its replay say."""
    filters = tuple(str(text) for text in meta.get("filters", ()))
    return Filtered(filters, stats.filtered, stats.filtered_blocks, stats.filtered_insns)
