# SPDX-License-Identifier: GPL-2.0-or-later
"""The control client against a made-up recorder that answers line by line."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gdbext.errors import ControlError, UsageError
from gdbext.target.control import ControlClient, discover

HELLO: dict[str, object] = {
    "ok": True,
    "protocol": 1,
    "plugin_version": "0.1.0",
    "plugin_api": 2,
    "target": "arm",
    "vcpus": 2,
    "pid": os.getpid(),
    "directory": "/live",
}
STATUS: dict[str, object] = {
    "ok": True,
    "recording": True,
    "state": "recording",
    "instructions": 1234,
    "blocks": 300,
    "distinct_blocks": 40,
    "chunks": 2,
    "stream_bytes": 999,
    "gaps": 0,
    "message": "",
    "generation": 3,
    "filter": "",
    "ring": 0,
    "dropped_instructions": 0,
}

Answer = Callable[[str], bytes | None]
"""From a request line to the answer's bytes; None closes the connection."""


class MadeUpRecorder:
    """Listens at a path and answers each request line with a function of the test's."""

    def __init__(self, path: Path, answer: Answer) -> None:
        self.requests: list[str] = []
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        # A client that was not closed still has its connection; the thread ends with the process.
        self._thread.join(0.1)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as lines, suppress(OSError):
                for line in lines:
                    self.requests.append(line.decode().rstrip("\n"))
                    answer = self._answer(self.requests[-1])
                    if answer is None:
                        break
                    connection.sendall(answer)
                    if not answer.endswith(b"\n"):
                        break


StartRecorder = Callable[[Answer], tuple[ControlClient, MadeUpRecorder]]


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[StartRecorder]:
    """Return a function that starts a made-up recorder and gives a client of it."""
    started: list[MadeUpRecorder] = []

    def start(answer: Answer) -> tuple[ControlClient, MadeUpRecorder]:
        made = MadeUpRecorder(tmp_path / "control", answer)
        started.append(made)
        return ControlClient(tmp_path, timeout_s=5), made

    yield start
    for made in started:
        made.close()


def line(fields: dict[str, object]) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def test_answers_become_typed_values(recorder: StartRecorder) -> None:
    answers: dict[str, dict[str, object]] = {
        "hello": HELLO,
        "start first run": {"ok": True, "already": False, "vcpus": 2},
        "status": STATUS,
        "sync": STATUS,
        "stop": {"ok": True, "already": True},
        "clear": {"ok": True, "generation": 4},
        "mark here": {"ok": True},
        "finish": {**STATUS, "state": "finished", "recording": False},
        "release": {"ok": True},
    }
    client, made = recorder(lambda request: line(answers[request]))

    with client:
        hello = client.hello()
        started = client.start("first run")
        status = client.status()
        synced = client.sync()
        already = client.stop()
        generation = client.clear()
        client.mark("here")
        finished = client.finish()
        client.release()

    assert (hello.target, hello.vcpus, hello.plugin_api) == ("arm", 2, 2)
    assert hello.directory == Path("/live")
    assert (started.already, started.vcpus) == (False, 2)
    assert status == synced
    assert (status.instructions, status.state, status.generation) == (1234, "recording", 3)
    assert already is True
    assert generation == 4
    assert finished.state == "finished"
    assert made.requests == list(answers)


def test_missing_socket_says_how_to_start(tmp_path: Path) -> None:
    with pytest.raises(ControlError, match=r"control: no recorder here; .*gdbext qemu-args"):
        ControlClient(tmp_path / "control").status()


def test_dead_socket_says_that_qemu_has_ended(tmp_path: Path) -> None:
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dead.bind(str(tmp_path / "control"))
    dead.close()

    with pytest.raises(ControlError, match="the QEMU that recorded here has ended"):
        ControlClient(tmp_path).status()


def test_missing_socket_beside_a_recording_says_that_qemu_has_ended(tmp_path: Path) -> None:
    (tmp_path / "stream").write_bytes(b"")

    with pytest.raises(ControlError, match=r"has ended; what it recorded can be analysed"):
        ControlClient(tmp_path / "control").status()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (line({"ok": False, "error": "busy", "message": "b"}), "another client holds"),
        (line({"ok": False, "error": "failed", "message": "disk\nfull"}), "`start`: disk full"),
        (line({"ok": False, "error": "finished", "message": "f"}), "the recording is finished"),
        (line({"ok": False, "error": "unknown-request"}), "refused `start`: unknown-request"),
        (b"HTTP/1.1 400 Bad Request\r\n", "is not the recorder's: b'HTTP"),
        (b"[1, 2]\n", "is not the recorder's"),
        (b'{"ok": 1}\n', "is not the recorder's"),
        (b"\xff\xfe\n", "is not the recorder's"),
        (line({"ok": True, "already": False}), "lacks 'vcpus'"),
        (line({"ok": True, "already": 0, "vcpus": 1}), "has 'already' = 0"),
        (b'{"ok": tr', "closed the connection in the middle of the answer to `start`"),
        (None, "closed the connection without answering `start`"),
    ],
)
def test_bad_answers_are_one_line(
    recorder: StartRecorder, answer: bytes | None, message: str
) -> None:
    client, _ = recorder(lambda _request: answer)

    with pytest.raises(ControlError) as raised:
        client.start()

    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_busy_line_is_read_although_the_request_cannot_be_sent(tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(tmp_path / "control"))
    listener.listen()
    client = ControlClient(tmp_path, timeout_s=5)
    client.connect()
    served, _ = listener.accept()
    served.sendall(line({"ok": False, "error": "busy", "message": "one at a time"}))
    served.close()

    with pytest.raises(ControlError, match="another client holds the recorder"):
        client.stop()

    listener.close()


def test_silence_ends_at_the_timeout(tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(tmp_path / "control"))
    listener.listen()

    with pytest.raises(ControlError, match=r"no answer to `stop` within 0\.1 s"):
        ControlClient(tmp_path, timeout_s=0.1).stop()

    listener.close()


def test_connection_is_new_after_trouble(recorder: StartRecorder) -> None:
    answers = iter([b"garbage\n" + line(STATUS), line(STATUS)])
    client, _ = recorder(lambda _request: next(answers))
    with pytest.raises(ControlError):
        client.status()

    status = client.status()

    assert status.blocks == 300


@pytest.mark.parametrize("text", ["two\nlines", "nul\0", "x" * 4096])
def test_text_that_fits_no_request_is_refused_before_sending(
    recorder: StartRecorder, text: str
) -> None:
    client, made = recorder(lambda _request: line(STATUS))

    with pytest.raises(UsageError):
        client.mark(text)

    assert made.requests == []


def test_other_protocol_version_names_both(recorder: StartRecorder) -> None:
    client, _ = recorder(lambda _request: line({**HELLO, "protocol": 2}))

    with pytest.raises(ControlError, match="protocol 2; this gdbext speaks 1"):
        client.hello()


def test_path_longer_than_a_socket_address_is_reached(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    before = Path.cwd()
    os.chdir(deep)
    try:
        made = MadeUpRecorder(Path("control"), lambda _request: line(STATUS))
    finally:
        os.chdir(before)

    status = ControlClient(deep).status()

    assert status.blocks == 300
    made.close()


def test_discover_finds_living_recorders_only(tmp_path: Path) -> None:
    for name in ("alive", "busy", "dead", "empty"):
        (tmp_path / name).mkdir()
    alive = MadeUpRecorder(tmp_path / "alive" / "control", lambda _request: line(HELLO))
    busy_line = line({"ok": False, "error": "busy", "message": "one at a time"})
    busy = MadeUpRecorder(tmp_path / "busy" / "control", lambda _request: busy_line)
    write_live_header(tmp_path / "busy" / "live", os.getpid())
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dead.bind(str(tmp_path / "dead" / "control"))
    dead.close()
    write_live_header(tmp_path / "dead" / "live", ended_process())

    found = discover(tmp_path)

    assert [session.directory.name for session in found] == ["alive", "busy"]
    assert found[0].hello is not None and found[1].hello is None
    assert [session.pid for session in found] == [os.getpid(), os.getpid()]
    alive.close()
    busy.close()


def write_live_header(path: Path, pid: int) -> None:
    path.write_bytes(struct.pack("<8sIIQQI", b"GXLIVE1\0", 1, 2, 1 << 20, 0, pid))


def ended_process() -> int:
    done = subprocess.Popen(["true"])
    done.wait()
    return done.pid
