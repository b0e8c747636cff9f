# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps what was read from an ELF file, so that the next session need not read it again.

One directory for each ELF file, named by its SHA-256 (which decides the build ID too), one file
for each part: `index`, `units`, `lines-OFFSET` and `code-OFFSET` for each compile unit that
was asked about, and what others store. A file is one line `gdbext-symbols VERSION
SHA256-OF-THE-REST` and JSON or bytes. Files
appear whole or not at all; one that is damaged or of another version counts as missing and is
written again. A cache that cannot be written is only slower.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

VERSION = 4  # raise it when what is stored, or how it is worked out, changes
_KEPT = 50  # ELF files; the longest unused go first


def default_directory() -> Path:
    """`$XDG_CACHE_HOME/gdbext/symbols`, or the same in `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base.startswith("/") else Path("~/.cache").expanduser()
    return root / "gdbext" / "symbols"


class Cache:
    """The stored parts of one ELF file."""

    def __init__(self, directory: Path | None, sha256: str) -> None:
        """`directory` holds the caches of all files; None keeps nothing."""
        self._root = directory
        self._home = directory / sha256 if directory else None

    def load(self, part: str) -> Any:
        """The JSON value stored as `part`; None if there is none that can be trusted."""
        body = self.load_bytes(part)
        return None if body is None else json.loads(body)

    def load_bytes(self, part: str) -> bytes | None:
        """What is stored as `part`; None if there is nothing that can be trusted."""
        if self._home is None:
            return None
        try:
            head, _, body = (self._home / part).read_bytes().partition(b"\n")
        except OSError:
            return None
        if head != _head(body):
            return None
        if part == "index":
            with contextlib.suppress(OSError):  # not ours to touch: it only looks older
                os.utime(self._home)
        return body

    def store(self, part: str, value: Any) -> None:
        """Store a JSON value; where that is not possible, nothing is kept from here on."""
        self.store_bytes(part, json.dumps(value, separators=(",", ":")).encode())

    def store_bytes(self, part: str, body: bytes) -> None:
        """Store bytes; where that is not possible, nothing is kept from here on."""
        if self._home is None or self._root is None:
            return
        try:
            is_new = not self._home.exists()
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_whole(self._home / part, _head(body) + b"\n" + body)
            if is_new:
                _drop_oldest(self._root)
        except OSError:
            self._home = None


def _head(body: bytes) -> bytes:
    return f"gdbext-symbols {VERSION} {hashlib.sha256(body).hexdigest()}".encode()


def _write_whole(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _drop_oldest(root: Path) -> None:
    homes = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(root) if entry.is_dir()]
    for _, path in sorted(homes, reverse=True)[_KEPT:]:
        shutil.rmtree(path, ignore_errors=True)
