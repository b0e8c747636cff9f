# SPDX-License-Identifier: GPL-2.0-or-later
"""The private place for sockets and live recordings: `${XDG_RUNTIME_DIR:-/tmp}/gdbext-UID/`."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from pathlib import Path
from typing import Final

from gdbext.errors import TargetError

__all__ = ["make_session_directory", "remove_session_directory", "runtime_root", "session_name"]

SOCKET_PATH_BYTES: Final = 108
"""Size of `sun_path`, with its final NUL."""


def runtime_root() -> Path:
    """The directory below which every session has its own; it may not exist yet."""
    base = os.environ.get("XDG_RUNTIME_DIR") or "/tmp"
    return Path(base) / f"gdbext-{os.getuid()}"


def make_session_directory(label: str, data: Path | None = None) -> Path:
    """Make a new private directory (mode 0700) below `runtime_root()` and return it.

    Args:
        label: said in the name, for people; other characters than letters, digits, `._-` go.
        data: where the bytes shall lie. The directory is then made there, and the returned path
            is a symbolic link to it: short enough for a Unix socket, while a large recording
            lies on the disk of its output file.

    Raises:
        TargetError: the place cannot be written, or belongs to somebody else.
    """
    root = runtime_root()
    _make_private(root)
    session = root / session_name(label)
    if _is_too_long(session):
        session = root / session_name("s")
    if _is_too_long(session):
        raise TargetError(
            f"{root}: too long for a socket's path; set XDG_RUNTIME_DIR to a shorter directory"
        )
    try:
        if data is None:
            session.mkdir(mode=0o700)
        else:
            data.mkdir(mode=0o700)
            session.symlink_to(data.absolute(), target_is_directory=True)
    except OSError as error:
        raise TargetError(
            f"{error.filename or session}: cannot make the directory of the live recording: "
            f"{error.strerror}"
        ) from error
    return session


def remove_session_directory(session: Path) -> None:
    """Remove a session's directory (and where its link leads); it is no error if it is gone."""
    if session.is_symlink():
        shutil.rmtree(session.resolve(), ignore_errors=True)
        session.unlink(missing_ok=True)
    else:
        shutil.rmtree(session, ignore_errors=True)


def session_name(label: str) -> str:
    """A new name such as `blinky-4711-9f3a01`: label, our process id, and something random."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip(".-")[:24] or "session"
    return f"{plain}-{os.getpid()}-{secrets.token_hex(3)}"


def _is_too_long(session: Path) -> bool:
    """Whether a socket in the directory would have a path that no socket address can hold."""
    return len(os.fsencode(session / "control")) >= SOCKET_PATH_BYTES


def _make_private(root: Path) -> None:
    """Make `root` with mode 0700, or check that it is ours alone (in /tmp all could be first)."""
    try:
        root.mkdir(mode=0o700, exist_ok=True)
        status = root.lstat()
    except OSError as error:
        raise TargetError(
            f"{root}: cannot make the runtime directory: {error.strerror}; "
            "set XDG_RUNTIME_DIR to a directory of yours"
        ) from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise TargetError(f"{root}: is not a directory of yours; remove it or set XDG_RUNTIME_DIR")
    if status.st_mode & 0o077:
        root.chmod(0o700)
