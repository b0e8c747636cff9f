# SPDX-License-Identifier: GPL-2.0-or-later
"""Which part of a program the recorder records: ranges, and places where recording begins and ends.

The other end: `qemu-plugin/filter.c`; the requests: docs/control.md, "Filters".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gdbext.target.control import MAX_REQUEST_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gdbext.target.control import ControlClient

__all__ = ["EVERYTHING", "RecordingFilter", "set_filter"]

_LIST_BYTES: Final = MAX_REQUEST_BYTES - 32
_TEXT_BYTES: Final = 500


@dataclass(frozen=True)
class RecordingFilter:
    """What is recorded.

    Attributes:
        ranges: addresses [start, end) of code; none: all of it.
        begin: addresses of instructions where recording begins; none: at once.
        end: addresses of instructions where it ends; none: not by itself.
        once: what begins at `begin` again after `end` is not recorded.
        text: all that in the words that the user gave.
    """

    ranges: tuple[tuple[int, int], ...] = ()
    begin: tuple[int, ...] = ()
    end: tuple[int, ...] = ()
    once: bool = False
    text: str = ""

    def __bool__(self) -> bool:
        """Whether anything may be left out."""
        return bool(self.ranges or self.begin or self.end)

    def requests(self) -> Iterator[str]:
        """What comes after `filter` in the control protocol, one request an item."""
        yield "clear"
        if not self:
            return
        yield from _listed("range", (f"{start:x}-{end:x}" for start, end in self.ranges))
        yield from _listed("from", (f"{address:x}" for address in self.begin))
        yield from _listed("to", (f"{address:x}" for address in self.end))
        if self.once:
            yield "once"
        yield f"text {self.text.encode()[:_TEXT_BYTES].decode(errors='ignore')}"


EVERYTHING: Final = RecordingFilter()


def set_filter(client: ControlClient, wanted: RecordingFilter) -> None:
    """Have the next start record what is wanted.

    Raises:
        ControlError: the recorder refuses: it records already.
    """
    for request in wanted.requests():
        client.filter(request)


def _listed(word: str, items: Iterable[str]) -> Iterator[str]:
    """The items in as many requests as their length needs."""
    part: list[str] = []
    size = 0
    for item in items:
        if part and size + len(item) + 1 > _LIST_BYTES:
            yield f"{word} {','.join(part)}"
            part, size = [], 0
        part.append(item)
        size += len(item) + 1
    if part:
        yield f"{word} {','.join(part)}"
