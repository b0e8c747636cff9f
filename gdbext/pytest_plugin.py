# SPDX-License-Identifier: GPL-2.0-or-later
"""A pytest plugin: firmware tests are ordinary tests, with the fixture `gdbext` (docs/pytest.md).

def test_heap(gdbext):
    gdbext.start("build/app.elf", board="mps2-an385")
    gdbext.record()
    gdbext.run_until(exit=0)
    gdbext.check("calls(malloc) == calls(free)")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from gdbext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from gdbext.mi.stops import Stop
    from gdbext.session.expressions import Result
    from gdbext.session.machine import Machine, StepBy

__all__ = ["FirmwareTest", "gdbext"]

_CONSOLE_TAIL_LETTERS: Final = 4000
_FIXTURE: Final = "gdbext"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Firmware and board that tests take when they name none."""
    group = parser.getgroup("gdbext", "firmware in QEMU")
    group.addoption("--gdbext-firmware", metavar="ELF", help="program of tests that name none")
    group.addoption("--gdbext-board", metavar="B", help="board of tests that name none")
    parser.addini("gdbext_firmware", "program of tests that name none, relative to this file")
    parser.addini("gdbext_board", "board of tests that name none")


class FirmwareTest:
    """What the fixture `gdbext` is: one program on one board, for one test.

    Methods that run the program raise ExpectationError where it does not do what was asked in
    time; all raise the errors of gdbext.errors where something cannot be done at all.
    """

    def __init__(self, firmware: Path | None, board: str | None) -> None:
        """Args: firmware, board: defaults of `start`."""
        self._firmware = firmware
        self._board = board
        self._machine: Machine | None = None

    def start(
        self,
        firmware: str | Path | None = None,
        board: str | None = None,
        qemu_args: Sequence[str] = (),
    ) -> Machine:
        """Start QEMU and GDB; the program stands at its first instruction.

        Args:
            firmware: the ELF file; None: that of --gdbext-firmware, or the ini file's.
            board: as `gdbext boards` lists them; None: likewise.
        """
        # Only now: pytest loads this module in every run, whatever it tests.
        from gdbext.session.machine import Machine
        from gdbext.target.boards import load_board

        if self._machine is not None:
            raise UsageError("gdbext: this test has started its program already")
        path = Path(firmware) if firmware is not None else self._firmware
        name = board or self._board
        if path is None or name is None:
            missing = "firmware" if path is None else "board"
            raise UsageError(f"gdbext: no {missing}; give it to start(), or as --gdbext-{missing}")
        self._machine = Machine(load_board(name), path, tuple(qemu_args))
        self._machine.start()
        return self._machine

    @property
    def machine(self) -> Machine:
        """The started program with all that can be done to it."""
        if self._machine is None:
            raise UsageError("gdbext: nothing is started; call start() first")
        return self._machine

    def record(self) -> None:
        """Record from here on."""
        self.machine.trace("start")

    def break_at(self, location: str, condition: str = "") -> int:
        """Set a breakpoint; its number."""
        return self.machine.break_at(location, condition=condition)

    def run(self, timeout_s: float = 60.0) -> Stop:
        """Run until the next stop, or the end."""
        return self.machine.run(timeout_s)

    def run_until(self, **goal: Any) -> Stop:
        """Run until a goal: function, line, address, console, insns, seconds or exit."""
        return self.machine.run_until(**goal)

    def step(self, by: StepBy = "line", count: int = 1) -> Stop:
        """Run by lines or instructions."""
        return self.machine.step(by, count)

    def evaluate(self, expression: str) -> int | float | str:
        """The value of an expression in GDB's language."""
        return self.machine.evaluate(expression)

    def send(self, text: str) -> None:
        """Type to the guest's serial port."""
        self.machine.send(text)

    @property
    def console(self) -> str:
        """What the guest wrote."""
        return self.machine.console

    def trace(self, command: str) -> str:
        """Run a command below `trace`; what it printed."""
        return self.machine.trace(command)

    def check(self, expectation: str) -> None:
        """Fail, with what was found, unless the expectation holds (docs/sessions.md)."""
        from gdbext.session.answers import MachineAnswers
        from gdbext.session.expressions import parse_expression

        outcome = MachineAnswers(self.machine).check(parse_expression(expectation))
        if not outcome.holds:
            pytest.fail(outcome.explain(), pytrace=False)

    def answer(self, question: str) -> Result:
        """The answer to a question of expectations, such as `calls(malloc)`, to compare."""
        from gdbext.session.answers import MachineAnswers
        from gdbext.session.expressions import parse_expression

        return parse_expression(question).value(MachineAnswers(self.machine))

    def close(self) -> None:
        """End QEMU and GDB; the fixture does it at the test's end."""
        if self._machine is not None:
            self._machine.close()

    def report(self) -> str:
        """The end of the console, for a test that failed; empty if nothing was started."""
        if self._machine is None:
            return ""
        return self._machine.console[-_CONSOLE_TAIL_LETTERS:]


@pytest.fixture
def gdbext(request: pytest.FixtureRequest) -> Iterator[FirmwareTest]:
    """A program on an emulated board, under GDB and recorded, for this test."""
    firmware, board = _defaults(request.config)
    test = FirmwareTest(firmware, board)
    try:
        yield test
    finally:
        test.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the guest's console with a test that failed."""
    report = yield
    test = getattr(item, "funcargs", {}).get(_FIXTURE)
    if report.when == "call" and report.failed and isinstance(test, FirmwareTest):
        console = test.report()
        if console:
            report.sections.append(("guest's console", console))
    return report


def _defaults(config: pytest.Config) -> tuple[Path | None, str | None]:
    named = config.getoption("--gdbext-firmware")
    if named:
        firmware: Path | None = config.invocation_params.dir / named
    else:
        written = config.getini("gdbext_firmware")
        base = config.inipath.parent if config.inipath is not None else config.rootpath
        firmware = base / written if written else None
    board = config.getoption("--gdbext-board") or config.getini("gdbext_board")
    return firmware, board or None
