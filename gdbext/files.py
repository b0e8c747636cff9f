# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are written whole or not at all."""

from __future__ import annotations

import secrets
from typing import IO, TYPE_CHECKING

from gdbext.errors import GdbextError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["ReplacedFile", "check_replaceable", "write_whole"]


class ReplacedFile:
    """A file that gets its name when it is whole; until then it has another one beside it."""

    def __init__(self, path: Path) -> None:
        # Where a symbolic link leads is replaced, not the link.
        self._path = path.resolve()
        # A name of its own: two may write the same file at once, and nobody's file is in the way.
        self._part = self._path.with_name(f".{secrets.token_hex(4)}.part")
        self._out: IO[bytes]

    def __enter__(self) -> IO[bytes]:
        check_replaceable(self._path)
        self._out = self._part.open("xb")
        return self._out

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            # A full disk may show only here, when the buffer is written.
            self._out.close()
            if error is None:
                self._part.replace(self._path)
        finally:
            self._part.unlink(missing_ok=True)


def check_replaceable(path: Path) -> None:
    """Refuse what no file may take the place of, such as `/dev/null`.

    Raises:
        GdbextError: there is something other than a regular file.
    """
    if path.is_dir():
        raise GdbextError(f"{path}: cannot be written: Is a directory")
    if path.exists() and not path.is_file():
        raise GdbextError(f"{path}: is no regular file and will not be replaced; name another")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file; one that is there is replaced when all is written.

    Raises:
        GdbextError: it cannot be written, for example because the disk is full.
    """
    try:
        with ReplacedFile(path) as out:
            out.write(content)
    except OSError as error:
        raise GdbextError(f"{path}: cannot be written: {error.strerror or error}") from error
