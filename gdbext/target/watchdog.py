# SPDX-License-Identifier: GPL-2.0-or-later
"""The small process between us and QEMU: sees to it that QEMU never outlives who started it.

Run as a script, `watchdog.py COMMAND_FD REPORT_FD GRACE_S PROGRAM ARG...`, standard library only.
`launch.py` starts it in a process session of its own; it starts QEMU there, so that Ctrl-C in the
terminal reaches neither, and ends with QEMU's exit status (or dies of QEMU's signal).

COMMAND_FD is the reading end of a pipe whose only writing end the parent holds. The kernel closes
that end when the parent ends in whatever way, kill -9 included. Then QEMU gets SIGTERM (it ends
the recording properly), and SIGKILL after GRACE_S seconds. A byte `t` asks for the same, `k` for
SIGKILL at once.

Why not PR_SET_PDEATHSIG in QEMU alone: the signal comes when the *thread* that forked ends, not
the process (inside GDB or a test runner that is another moment); it is set in a preexec function,
which is unsafe in a process with threads, and too late if the parent dies before it; and it can be
one signal only, not first a polite one. Here, in a process of one thread that checks its child's
parent afterwards, those points do not hold, so it is used for one case: the watchdog itself killed.

REPORT_FD gets one line: `pid N`, or `error TEXT` if PROGRAM cannot be executed.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time

PR_SET_PDEATHSIG = 1


def main(argv: list[str]) -> int:
    """Start the program, watch over it, and end as it ended."""
    command_fd, report_fd, grace_s = int(argv[1]), int(argv[2]), float(argv[3])
    program = argv[4:]
    for fd in (command_fd, report_fd):
        os.set_inheritable(fd, False)
    # Whoever wants QEMU to end closes the pipe; these are meant for people's terminals.
    for ignored in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)

    child = _start(program, report_fd)
    os.close(report_fd)
    # QEMU's output belongs to the parent's readers until QEMU closes it: hold no copies of it.
    _release_standard_streams()
    return _watch(child, command_fd, wake_read, grace_s)


def _watch(child: int, command_fd: int, wake_fd: int, grace_s: float) -> int:
    deadline: float | None = None
    waiting = select.poll()
    for fd in (command_fd, wake_fd):
        waiting.register(fd, select.POLLIN)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return _end_like(status)
        timeout = None
        if deadline is not None:
            timeout = max(deadline - time.monotonic(), 0)
            if timeout == 0:
                os.kill(child, signal.SIGKILL)
                timeout = None
        ready = [fd for fd, _ in waiting.poll(None if timeout is None else timeout * 1000)]
        if wake_fd in ready:
            os.read(wake_fd, 4096)
        if command_fd in ready:
            command = os.read(command_fd, 1)
            if command == b"k":
                os.kill(child, signal.SIGKILL)
            elif deadline is None:
                os.kill(child, signal.SIGTERM)
                deadline = time.monotonic() + grace_s
            if not command:
                waiting.unregister(command_fd)


def _start(program: list[str], report_fd: int) -> int:
    parent = os.getpid()
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    failure_read, failure_write = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        try:
            signal.set_wakeup_fd(-1)
            for used in (
                signal.SIGINT,
                signal.SIGQUIT,
                signal.SIGHUP,
                signal.SIGTERM,
                signal.SIGPIPE,
                signal.SIGCHLD,
            ):
                signal.signal(used, signal.SIG_DFL)
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(125)
            os.execvp(program[0], program)
        except OSError as error:
            os.write(failure_write, f"{program[0]}: {error.strerror}".encode())
        finally:
            os._exit(127)
    os.close(failure_write)
    failure = os.read(failure_read, 4096)
    os.close(failure_read)
    report = b"error " + failure if failure else b"pid %d" % child
    try:
        os.write(report_fd, report + b"\n")
    except BrokenPipeError:
        # The parent is gone already; the command pipe says so too, and ends QEMU.
        pass
    return child


def _release_standard_streams() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def _end_like(status: int) -> int:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        # A core file of the watchdog is of no use.
        prctl_dumpable = 4
        ctypes.CDLL(None).prctl(prctl_dumpable, 0)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    return os.WEXITSTATUS(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
