# SPDX-License-Identifier: GPL-2.0-or-later
"""Stop conditions in the recorder: set one, notice that it has hit, let the held vCPU go.

The other end: `qemu-plugin/stopon.c`; the requests: docs/control.md, "Stop conditions".
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gdbext.errors import ControlError
from gdbext.recording.format import LIVE_HELD_OFFSET
from gdbext.target.control import MAX_REQUEST_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gdbext.target.control import ControlClient

__all__ = ["HeldWord", "StopOn", "drop_condition", "read_condition", "release", "set_condition"]

_ADDRESSES_BYTES: Final = MAX_REQUEST_BYTES - 32


@dataclass(frozen=True)
class StopOn:
    """A stop condition.

    Attributes:
        is_set: it is looked for, or has hit and was not dropped.
        count: executions seen.
        address: of the instruction that hit; vcpu: where.
        released: blocks that were let go after the hit, until QEMU stopped.
    """

    is_set: bool
    hit: bool
    count: int
    address: int
    vcpu: int
    released: int


def set_condition(client: ControlClient, addresses: Sequence[int], count: int) -> None:
    """Hold the vCPU where these instructions, taken together, are executed for the `count`th time.

    Raises:
        ControlError: the recorder refuses: it does not record.
    """
    client.stop_on("off")
    part: list[str] = []
    size = 0
    for address in addresses:
        word = f"{address:x}"
        if size + len(word) + 1 > _ADDRESSES_BYTES:
            client.stop_on(f"add {','.join(part)}")
            part, size = [], 0
        part.append(word)
        size += len(word) + 1
    client.stop_on(f"add {','.join(part)}")
    client.stop_on(f"set {count}")


def read_condition(client: ControlClient) -> StopOn:
    """What became of the condition."""
    answer = client.stop_on("status")
    return StopOn(
        answer.flag("set"),
        answer.flag("hit"),
        answer.number("count"),
        answer.number("address"),
        answer.number("vcpu"),
        answer.number("released"),
    )


def release(client: ControlClient) -> None:
    """Let the held vCPU execute one block."""
    client.stop_on("release")


def drop_condition(client: ControlClient) -> None:
    """Look for nothing any more; a held vCPU goes on."""
    client.stop_on("off")


class HeldWord:
    """Whether a vCPU is held, read from shared memory: any thread may, the socket stays free."""

    def __init__(self, live_directory: Path) -> None:
        """Raises: ControlError: there is no recorder's memory."""
        path = live_directory / "live"
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise ControlError(f"{path}: cannot be read: {error.strerror}") from error
        try:
            self._map = mmap.mmap(fd, mmap.PAGESIZE, prot=mmap.PROT_READ)
        finally:
            os.close(fd)

    def __bool__(self) -> bool:
        return self._map[LIVE_HELD_OFFSET] != 0

    def close(self) -> None:
        """Unmap."""
        self._map.close()
