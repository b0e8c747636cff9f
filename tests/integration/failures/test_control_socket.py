# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that misbehave on the control socket: the recording and the guest go on as they were."""

from __future__ import annotations

import json
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from gdbext.errors import ControlError
from gdbext.recording.reader import Recording
from gdbext.target.boards import load_board
from gdbext.target.control import ControlClient
from gdbext.target.qemu_binary import QemuBinary
from tests.integration.failures.programs import ENDS_WITH, wanderer_elf
from tests.support.executed import executed, first_difference, marks
from tests.support.gdbext_cli import forever_elf, gdbext
from tests.support.qemu_runs import Running, record, running, wait_until

BOARD = load_board("mps2-an385")
ROUNDS = 3_000_000


@pytest.fixture
def qemu(find_qemu: Callable[[str], QemuBinary]) -> QemuBinary:
    """QEMU for the board."""
    return find_qemu(BOARD.qemu)


@contextmanager
def raw(run: Running) -> Iterator[socket.socket]:
    """A connection without manners."""
    run.control().close()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        # Blocking: with a timeout it would not wait for its turn in the queue.
        connection.connect(str(run.directory / "control"))
        connection.settimeout(60)
        yield connection


def answer(connection: socket.socket) -> dict[str, Any]:
    """The next line, which must be JSON in UTF-8."""
    line = b""
    while not line.endswith(b"\n"):
        data = connection.recv(1)
        assert data, f"closed after {line!r}"
        line += data
    fields: dict[str, Any] = json.loads(line.decode())
    return fields


def garbage(run: Running) -> None:
    with raw(run) as client:
        for line in (b"\xff\xfe\x80\n", b"START\n", b"\x1b[2J\n", b'stop"\\\n', b" stop\n", b"\n"):
            client.sendall(line)
            assert answer(client)["error"] == "unknown-request"
        client.sendall(b"status\r\nhello\nnonsense\n")
        assert answer(client)["state"] == "recording"
        assert answer(client)["protocol"] == 1
        assert answer(client)["ok"] is False


def zeros(run: Running) -> None:
    with raw(run) as client:
        client.sendall(bytes(100) + b"\n")
        assert answer(client)["error"] == "unknown-request"
        client.sendall(bytes(3000) + b"\nstatus\n")
        assert answer(client)["error"] == "unknown-request"
        assert answer(client)["recording"] is True


def endless_line(run: Running) -> None:
    with raw(run) as client:
        client.sendall(b"stop" * (1 << 18))
        assert answer(client)["error"] == "too-long"
        client.sendall(b"stop\nstatus\n")
        assert answer(client)["recording"] is True


def longest_line(run: Running) -> None:
    with raw(run) as client:
        client.sendall(b"x" * 4095 + b"\n")
        assert answer(client)["error"] == "unknown-request"
        client.sendall(b"x" * 4096 + b"\n")
        assert answer(client)["error"] == "too-long"
        client.sendall(b"hello\n")
        assert answer(client)["ok"] is True


def half_request(run: Running) -> None:
    with raw(run) as client:
        client.sendall(b"st")
    with raw(run) as client:
        client.sendall(b"op")
    with raw(run) as client:
        client.sendall(b"stop")
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""


def gone_before_the_answer(run: Running) -> None:
    for _ in range(50):
        with raw(run) as client, suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(b"status\nsync\n")


def never_reads(run: Running) -> None:
    with raw(run) as client:
        client.settimeout(0.2)
        with suppress(TimeoutError, BrokenPipeError, ConnectionResetError):
            while True:
                client.sendall(b"status\n" * 100)
        # The recorder gives it up, and serves others.
        wait_until(lambda: is_served(run), "another client is served")


def many_connects(run: Running) -> None:
    for _ in range(200):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(run.directory / "control"))
    wait_until(lambda: is_served(run), "a client is served")


def second_controller(run: Running) -> None:
    with run.control() as first:
        assert first.status().recording
        with raw_while_busy(run) as other:
            busy = answer(other)
            assert (busy["ok"], busy["error"]) == (False, "busy")
            assert other.recv(1) == b""
        with (
            pytest.raises(ControlError, match="another client holds the recorder"),
            ControlClient(run.directory) as second,
        ):
            second.stop()
        assert first.status().recording


@contextmanager
def raw_while_busy(run: Running) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(60)
        connection.connect(str(run.directory / "control"))
        yield connection


def is_served(run: Running) -> bool:
    with suppress(ControlError), ControlClient(run.directory, 1.0) as client:
        return client.status().recording
    return False


TROUBLE = (
    garbage,
    zeros,
    endless_line,
    longest_line,
    half_request,
    gone_before_the_answer,
    never_reads,
    many_connects,
    second_controller,
)


@pytest.mark.parametrize("trouble", TROUBLE)
def test_guest_and_recording_go_on(
    tmp_path: Path, qemu: QemuBinary, trouble: Callable[[Running], None]
) -> None:
    elf = wanderer_elf(tmp_path, 0xFFFFFFFF)
    with running(BOARD, elf, qemu, tmp_path / "live") as run:
        with run.control() as ready:
            wait_until(lambda: ready.status().chunks > 0, "the guest runs")
        trouble(run)

        assert run.process.poll() is None
        wait_until(lambda: is_served(run), "a client with manners is served")
        with run.control() as client:
            end = client.finish()
    with Recording.open(tmp_path / "live") as recording:
        assert recording.cut is None
        [vcpu] = executed(recording)
    assert end.instructions == len(vcpu.addresses) > 0
    assert [kind for _, kind, _ in marks(vcpu)] == [1, 2]


def test_program_ends_as_without_the_trouble(tmp_path: Path, qemu: QemuBinary) -> None:
    elf = wanderer_elf(tmp_path, ROUNDS)
    record(BOARD, elf, qemu, tmp_path / "calm")
    with running(BOARD, elf, qemu, tmp_path / "live") as run:
        run.control().close()
        while run.process.poll() is None:
            with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
                client.connect(str(run.directory / "control"))
                client.sendall(b"\0\xffstatus\nsync\nhello\n" + b"y" * 5000)
        assert run.wait() == 0

    assert ENDS_WITH in run.text()
    ours, truth = (executed(tmp_path / name)[0].addresses for name in ("live", "calm"))
    assert first_difference(ours, truth) is None


def test_socket_is_the_users_alone(tmp_path: Path, qemu: QemuBinary) -> None:
    elf = forever_elf(tmp_path)
    with running(BOARD, elf, qemu, tmp_path / "live") as run:
        run.control().close()

        assert stat.S_IMODE((run.directory / "control").stat().st_mode) == 0o600
        assert stat.S_IMODE(run.directory.stat().st_mode) == 0o700


def test_texts_of_any_bytes_are_kept_and_shown(tmp_path: Path, qemu: QemuBinary) -> None:
    elf = wanderer_elf(tmp_path, 0xFFFFFFFF)
    with running(BOARD, elf, qemu, tmp_path / "live") as run:
        with run.control() as ready:
            wait_until(lambda: ready.status().chunks > 0, "the guest runs")
        with raw(run) as client:
            for text in (b"\xff\xfe", b"\x1b[31m", b"z" * 4000, "grün".encode()):
                client.sendall(b"mark " + text + b"\n")
                assert answer(client)["ok"] is True
        with run.control() as client2:
            client2.finish()

    done = gdbext("dump", "--events", tmp_path / "live", runtime=tmp_path)

    assert (done.status, done.err) == (0, "")
    assert 'text="gr\\u00fcn"' in done.out
    assert "\x1b" not in done.out
    assert done.out.count("MARK ") == 6


def test_texts_of_a_halted_guest_cannot_overrun_a_buffer(tmp_path: Path, qemu: QemuBinary) -> None:
    """Each start and stop leaves 2 KiB, and nothing runs in between that would make room."""
    elf = forever_elf(tmp_path)
    with running(BOARD, elf, qemu, tmp_path / "live", record=False, gdb=True) as run:
        with run.control() as client:
            wait_until(lambda: client.hello().vcpus == 1, "the vCPU is made")
            for _ in range(1500):
                client.start("x" * 2000)
                client.stop()
            end = client.finish()

        assert run.process.poll() is None
    assert end.chunks >= 3
    [vcpu] = executed(tmp_path / "live")
    assert [kind for _, kind, _ in marks(vcpu)] == [1, 2] * 1500
