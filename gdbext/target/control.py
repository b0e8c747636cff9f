# SPDX-License-Identifier: GPL-2.0-or-later
"""Talking to the recorder inside QEMU over its control socket.

The messages: docs/control.md; the other end: `qemu-plugin/control.c`.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gdbext.errors import ControlError, UsageError
from gdbext.target.runtime import runtime_root

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["ControlClient", "Hello", "LiveSession", "Started", "Status", "discover", "is_listening"]

PROTOCOL: Final = 1
MAX_REQUEST_BYTES: Final = 4096
MAX_ANSWER_BYTES: Final = 1 << 20
TIMEOUT_S: Final = 30.0
_QUEUE_RETRY_S: Final = 0.01

_HOW_TO_START = "start QEMU with the plugin (`gdbext qemu-args` prints the arguments)"
_STILL_THERE = "what it recorded can be analysed and dumped; to record more, start it again"


@dataclass(frozen=True)
class Hello:
    """Who answers on the control socket."""

    plugin_version: str
    plugin_api: int
    """QEMU plugin API family that the plugin was built for: 1, 2 or 7."""
    target: str
    """QEMU's target name: `arm`, `riscv32`, .."""
    vcpus: int
    pid: int
    """QEMU's process id."""
    directory: Path
    """The live directory of the recording."""


@dataclass(frozen=True)
class Started:
    """What `start` did."""

    already: bool
    """It was recording before."""
    vcpus: int
    """vCPUs that record now."""


@dataclass(frozen=True)
class Status:
    """What the recorder is doing; instructions and blocks are those in finished chunks."""

    recording: bool
    state: str
    """`stopped`, `recording`, `failed`, `limit` or `finished`."""
    instructions: int
    blocks: int
    distinct_blocks: int
    chunks: int
    stream_bytes: int
    gaps: int
    message: str
    """Why it failed; empty otherwise."""
    generation: int
    """One more after each `clear`."""
    filter: str
    """What is recorded, in the words of `start`; empty: everything."""
    ring: int
    """Bytes of chunks that are kept; 0: all are."""
    dropped_instructions: int
    """Executed and recorded, but dropped by the ring since."""

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


class ControlClient:
    """One connection to a recorder. The recorder serves one client at a time: keep it short.

    Connects at the first request, or on `with`. Every method raises ControlError when the recorder
    is not there, refuses, or does not answer within `timeout_s`.
    """

    def __init__(self, path: Path | str, timeout_s: float = TIMEOUT_S) -> None:
        """Args: path: the socket, or the live directory that holds it as `control`."""
        place = Path(path)
        self.path: Path = place / "control" if place.is_dir() else place
        self.timeout_s = timeout_s
        self._socket: socket.socket | None = None
        self._pending = b""

    def __enter__(self) -> ControlClient:
        self.connect()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def connect(self) -> None:
        """Connect now; does nothing when connected."""
        if self._socket is None:
            self._socket = self._connected()
            self._pending = b""

    def close(self) -> None:
        """Close the connection; the recording goes on."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def hello(self) -> Hello:
        """Ask who answers."""
        answer = self._request("hello")
        protocol = answer.number("protocol")
        if protocol != PROTOCOL:
            raise ControlError(
                f"{self.path}: the plugin speaks control protocol {protocol}; "
                f"this gdbext speaks {PROTOCOL}"
            )
        return Hello(
            plugin_version=answer.text("plugin_version"),
            plugin_api=answer.number("plugin_api"),
            target=answer.text("target"),
            vcpus=answer.number("vcpus"),
            pid=answer.number("pid"),
            directory=Path(answer.text("directory")),
        )

    def start(self, text: str = "") -> Started:
        """Begin recording on every vCPU; `text` goes into the MARK event."""
        answer = self._request("start", text)
        return Started(already=answer.flag("already"), vcpus=answer.number("vcpus"))

    def stop(self) -> bool:
        """End recording: nothing after the answer is recorded. True if it was stopped already."""
        return self._request("stop").flag("already")

    def status(self) -> Status:
        """Ask what the recorder is doing."""
        return self._request("status").status()

    def sync(self) -> Status:
        """As `status`, after all full chunks are in `stream`."""
        return self._request("sync").status()

    def clear(self) -> int:
        """Forget what was recorded; returns the new generation. A running recording goes on."""
        return self._request("clear").number("generation")

    def mark(self, text: str) -> None:
        """Put a MARK event with `text` into every vCPU's stream."""
        self._request("mark", text)

    def finish(self) -> Status:
        """Stop for good: bring everything into `stream` and write END."""
        return self._request("finish").status()

    def release(self) -> None:
        """Let go a vCPU that is held at the instruction limit."""
        self._request("release")

    def stop_on(self, text: str) -> Answer:
        """A request about stop conditions (gdbext/target/stopon.py)."""
        return self._request("stop-on", text)

    def filter(self, text: str) -> None:
        """A request about what is recorded (gdbext/target/filter.py)."""
        self._request("filter", text)

    def ring(self, size: int) -> None:
        """Keep the newest chunks only, `size` bytes of them; 0: all."""
        self._request("ring", str(size))

    def _connected(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(self.timeout_s)
        deadline = time.monotonic() + self.timeout_s
        try:
            # Where the queue of connections is full, connect() does not wait if there is a timeout.
            while not _connect_if_room(connection, self.path):
                if time.monotonic() > deadline:
                    raise ControlError(
                        f"{self.path}: too many clients wait for the recorder; try again later"
                    )
                time.sleep(_QUEUE_RETRY_S)
        except ControlError:
            connection.close()
            raise
        except OSError as error:
            connection.close()
            # An orderly end removes the socket; the recording may lie beside it still.
            was_here = self.path.with_name("stream").exists()
            if isinstance(error, FileNotFoundError) and not was_here:
                text = f"no recorder here; {_HOW_TO_START}"
            elif isinstance(error, FileNotFoundError | ConnectionRefusedError):
                text = f"the QEMU that recorded here has ended; {_STILL_THERE}"
            elif isinstance(error, PermissionError):
                text = "the recorder belongs to another user; run as the user who started QEMU"
            else:
                text = f"cannot connect to the recorder: {error.strerror or error}"
            raise ControlError(f"{self.path}: {text}") from error
        return connection

    def _request(self, verb: str, text: str = "") -> Answer:
        line = f"{verb} {text}".rstrip(" ").encode()
        if b"\n" in line or b"\0" in line:
            raise UsageError(f"{verb}: the text must be one line")
        if len(line) + 1 > MAX_REQUEST_BYTES:
            raise UsageError(
                f"{verb}: the text is {len(line) + 1 - MAX_REQUEST_BYTES} bytes too long "
                f"(a request has at most {MAX_REQUEST_BYTES} bytes)"
            )
        self.connect()
        assert self._socket is not None
        # After any trouble the connection is out of step: drop it, the next request has a new one.
        try:
            # A recorder that is busy answers and closes before it reads, so sending may fail
            # although its line waits for us: read it in any case.
            with suppress(BrokenPipeError, ConnectionResetError):
                self._socket.sendall(line + b"\n")
            answer = self._answer(verb, self._receive_line(verb))
        except ControlError:
            self.close()
            raise
        return answer

    def _receive_line(self, verb: str) -> bytes:
        assert self._socket is not None
        deadline = time.monotonic() + self.timeout_s
        while b"\n" not in self._pending:
            if len(self._pending) > MAX_ANSWER_BYTES:
                raise ControlError(
                    f"{self.path}: the answer to `{verb}` has no end; is this gdbext's socket?"
                )
            try:
                self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
                data = self._socket.recv(65536)
            except TimeoutError as error:
                raise ControlError(
                    f"{self.path}: no answer to `{verb}` within {self.timeout_s:g} s; "
                    "QEMU hangs or is stopped"
                ) from error
            except OSError as error:
                raise ControlError(
                    f"{self.path}: the connection broke during `{verb}`: {error.strerror}; "
                    "QEMU has ended"
                ) from error
            if not data:
                where = "in the middle of the answer to" if self._pending else "without answering"
                raise ControlError(
                    f"{self.path}: the recorder closed the connection {where} `{verb}`; "
                    "QEMU has ended or is ending"
                )
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _answer(self, verb: str, line: bytes) -> Answer:
        garbage = f"{self.path}: the answer to `{verb}` is not the recorder's: {line[:60]!r}"
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise ControlError(garbage) from error
        if not isinstance(fields, dict) or not isinstance(fields.get("ok"), bool):
            raise ControlError(garbage)
        if not fields["ok"]:
            raise ControlError(self._refusal(verb, fields))
        return Answer(self.path, verb, fields)

    def _refusal(self, verb: str, fields: dict[str, Any]) -> str:
        word = str(fields.get("error", "failed"))
        message = " ".join(str(fields.get("message", "")).split())
        if word == "busy":
            return f"{self.path}: another client holds the recorder; try again when it is done"
        if word == "finished":
            return f"{self.path}: the recording is finished; `{verb}` is not possible any more"
        return f"{self.path}: the recorder refused `{verb}`: {message or word}"


@dataclass(frozen=True)
class LiveSession:
    """A live directory whose QEMU runs."""

    directory: Path
    pid: int
    hello: Hello | None
    """None while another client holds the recorder."""


def discover(root: Path | None = None, timeout_s: float = 2.0) -> list[LiveSession]:
    """Live directories below the runtime directory whose QEMU runs, by name.

    Dead ones (QEMU killed) and ones that do not answer are left out.
    """
    found = []
    for path in sorted((root or runtime_root()).glob("*/control")):
        directory = path.parent
        try:
            with ControlClient(path, timeout_s) as client:
                hello: Hello | None = client.hello()
        except ControlError:
            # Held by another client, or dead: the shared mapping says whose it is.
            hello = None
        pid = hello.pid if hello else _pid_of_live_mapping(directory / "live")
        if pid is not None and (hello or (is_listening(path) and _is_alive(pid))):
            found.append(LiveSession(directory, pid, hello))
    return found


@dataclass(frozen=True)
class Answer:
    """The fields of one answer, taken out with their types checked."""

    path: Path
    verb: str
    fields: dict[str, Any]

    def text(self, name: str) -> str:
        value = self._field(name)
        if not isinstance(value, str):
            raise self._wrong(name, value)
        return value

    def number(self, name: str) -> int:
        value = self._field(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(name, value)
        return value

    def flag(self, name: str) -> bool:
        value = self._field(name)
        if not isinstance(value, bool):
            raise self._wrong(name, value)
        return value

    def status(self) -> Status:
        return Status(
            recording=self.flag("recording"),
            state=self.text("state"),
            instructions=self.number("instructions"),
            blocks=self.number("blocks"),
            distinct_blocks=self.number("distinct_blocks"),
            chunks=self.number("chunks"),
            stream_bytes=self.number("stream_bytes"),
            gaps=self.number("gaps"),
            message="" if self.fields.get("message") is None else self.text("message"),
            generation=self.number("generation"),
            filter=self.text("filter"),
            ring=self.number("ring"),
            dropped_instructions=self.number("dropped_instructions"),
        )

    def _field(self, name: str) -> Any:
        if name not in self.fields:
            raise ControlError(
                f"{self.path}: the answer to `{self.verb}` lacks '{name}'; "
                "plugin and gdbext are of different versions"
            )
        return self.fields[name]

    def _wrong(self, name: str, value: object) -> ControlError:
        return ControlError(
            f"{self.path}: the answer to `{self.verb}` has '{name}' = {value!r}; "
            "plugin and gdbext are of different versions"
        )


def _connect_if_room(connection: socket.socket, path: Path) -> bool:
    """Connect; False if the listener's queue is full."""
    try:
        _connect_unix(connection, path)
    except BlockingIOError:
        return False
    return True


def _connect_unix(connection: socket.socket, path: Path) -> None:
    """Connect, also where the path is longer than a socket address can hold (107 bytes)."""
    if len(os.fsencode(path)) < 108:
        connection.connect(os.fspath(path))
        return
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        connection.connect(f"/proc/self/fd/{directory}/{path.name}")
    finally:
        os.close(directory)


def _pid_of_live_mapping(path: Path) -> int | None:
    """QEMU's process id from the header of `live` (docs/trace-format.md); None if unreadable."""
    try:
        with path.open("rb") as file:
            header = file.read(36)
    except OSError:
        return None
    if len(header) < 36 or header[:8] != b"GXLIVE1\0":
        return None
    return int(struct.unpack_from("<I", header, 32)[0])


def is_listening(path: Path) -> bool:
    """Whether a process accepts connections on this Unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(1.0)
        try:
            _connect_if_room(connection, path)
        except OSError:
            return False
    return True


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
