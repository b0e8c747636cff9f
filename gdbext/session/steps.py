# SPDX-License-Identifier: GPL-2.0-or-later
"""What each step of a session does (docs/sessions.md)."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gdbext.errors import ExpectationError, TargetError, UsageError
from gdbext.session.answers import MachineAnswers
from gdbext.session.expressions import parse_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gdbext.session.expressions import Result
    from gdbext.session.machine import Machine, StepBy
    from gdbext.session.model import Step

__all__ = ["Play"]

_SCALES: Final = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}


class Play:
    """The steps of one case, on its machine."""

    def __init__(
        self,
        machine: Machine,
        artifacts: Path,
        variables: Mapping[str, Result],
        deadline: float,
    ) -> None:
        """Args: deadline: of `time.monotonic()`, for the whole session."""
        self._machine = machine
        self._artifacts = artifacts
        self._variables = dict(variables)
        self._deadline = deadline

    def perform(self, step: Step) -> str:
        """Do a step; a line or more about what came of it.

        Raises:
            ExpectationError: something that should happen did not, or does not hold.
            GdbextError: it cannot be done.
        """
        if time.monotonic() >= self._deadline:
            raise ExpectationError("the session's time is over; see its key timeout_s")
        act: Callable[[Any], str] = getattr(self, "_" + step.word.replace("-", "_"))
        return act(step.value)

    # Running.

    def _continue(self, value: Any) -> str:
        keys = value if isinstance(value, dict) else {"times": value or 1}
        told = []
        for _ in range(keys.get("times", 1)):
            stop = self._machine.run(self._timeout(keys))
            told.append(stop.describe())
        return "\n".join(told)

    def _run_until(self, keys: dict[str, Any]) -> str:
        words = {key.replace("-", "_"): value for key, value in keys.items()}
        words["timeout_s"] = self._timeout(keys)
        if isinstance(words.get("insns"), str):
            words["insns"] = _count(words["insns"])
        stop = self._machine.run_until(**words).describe()
        return f"{stop}; {self._machine.remark}" if self._machine.remark else stop

    def _step(self, value: Any) -> str:
        keys: dict[str, Any] = value if isinstance(value, dict) else {"count": value or 1}
        count = int(keys.get("count", 1))
        by: StepBy = keys.get("by", "line")
        return self._machine.step(by, count, self._timeout(keys)).describe()

    def _reset(self, value: Any) -> str:
        if value is False:
            return ""
        self._machine.reset()
        return ""

    # Breakpoints.

    def _break(self, value: Any) -> str:
        keys = value if isinstance(value, dict) else {"at": value}
        number = self._machine.break_at(
            keys["at"],
            condition=keys.get("if", ""),
            temporary=keys.get("temporary", False),
            hardware=keys.get("hardware", False),
            ignore=keys.get("ignore", 0),
        )
        return f"breakpoint {number}"

    def _watch(self, value: Any) -> str:
        keys = value if isinstance(value, dict) else {"expression": value}
        number = self._machine.watch(
            keys["expression"], keys.get("access", "write"), keys.get("if", "")
        )
        return f"watchpoint {number}"

    def _delete(self, value: Any) -> str:
        self._machine.delete(value if isinstance(value, int) else None)
        return ""

    # Data.

    def _eval(self, value: Any) -> str:
        keys = value if isinstance(value, dict) else {"expression": value}
        result = self._machine.evaluate(keys["expression"])
        if "as" in keys:
            self._variables[keys["as"]] = result
        return str(result)

    def _set(self, keys: dict[str, Any]) -> str:
        if "variable" in keys:
            if "value" not in keys:
                raise UsageError("set: a variable needs a 'value'")
            self._machine.assign(keys["variable"], keys["value"])
            return ""
        if "bytes" not in keys:
            raise UsageError("set: an address needs 'bytes'")
        self._machine.write_memory(keys["address"], bytes.fromhex(keys["bytes"]))
        return ""

    def _input(self, text: str) -> str:
        self._machine.send(text)
        return ""

    # Recording and questions.

    def _trace(self, value: Any) -> str:
        keys = value if isinstance(value, dict) else {"command": value}
        if keys["command"].split() == ["stop"] and self._machine.has_ended:
            return "the recording has ended with the program"
        return self._saved(keys, self._machine.trace(keys["command"]))

    def _gdb(self, value: Any) -> str:
        keys = value if isinstance(value, dict) else {"command": value}
        return self._saved(keys, self._machine.gdb(keys["command"], self._timeout(keys)))

    def _analyze(self, value: Any) -> str:
        keys = value if isinstance(value, dict) else {"function": value} if value else {}
        words = ["analyze"]
        words += ["--function", keys["function"]] if "function" in keys else []
        words += ["--top", str(keys["top"])] if "top" in keys else []
        return self._answered(keys, words)

    def _coverage(self, value: Any) -> str:
        keys = value if isinstance(value, dict) else {"of": value} if value else {}
        of = [keys["of"]] if "of" in keys else []
        return self._answered(keys, ["coverage", *of, *_filters(keys)])

    def _export(self, keys: dict[str, Any]) -> str:
        file = str(self._file(keys["file"]))
        words = ["export", "--format", keys["format"], "-o", file, *_filters(keys)]
        return self._machine.trace(words)

    def _dump(self, file: str) -> str:
        return self._machine.trace(["dump", str(self._file(file))])

    def _expect(self, value: Any) -> str:
        keys = value if isinstance(value, dict) else {"that": value}
        expressions = keys["that"] if isinstance(keys["that"], list) else [keys["that"]]
        answers = MachineAnswers(self._machine, self._variables)
        for text in expressions:
            outcome = answers.check(parse_expression(text))
            if not outcome.holds:
                because = f" ({keys['because']})" if "because" in keys else ""
                raise ExpectationError(f"{outcome.explain()}{because}")
        return ""

    # Helpers.

    def _timeout(self, keys: Mapping[str, Any]) -> float:
        """Seconds that a step may take."""
        left = max(self._deadline - time.monotonic(), 0.1)
        return min(float(keys.get("timeout_s", left)), left)

    def _answered(self, keys: Mapping[str, Any], words: list[str]) -> str:
        """Run a question, and once more for its JSON if that is to be saved."""
        text = self._machine.trace(words)
        if "save" in keys:
            as_json = Path(keys["save"]).suffix == ".json"
            self._saved(keys, self._machine.trace([*words, "--json"]) if as_json else text)
        return text

    def _saved(self, keys: Mapping[str, Any], text: str) -> str:
        if "save" in keys:
            path = self._file(keys["save"])
            try:
                path.write_text(text)
            except OSError as error:
                raise TargetError(f"{path}: cannot be written: {error.strerror}") from error
        return text

    def _file(self, name: str) -> Path:
        """A file in the artifacts folder; a path from the root stays what it is."""
        path = self._artifacts / Path(name).expanduser()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TargetError(f"{path.parent}: cannot be made: {error.strerror}") from error
        return path


def _filters(keys: Mapping[str, Any]) -> list[str]:
    """The words of a command that choose source files."""
    return [
        word
        for option in ("include", "exclude")
        for pattern in keys.get(option, [])
        for word in (f"--{option}", pattern)
    ]


def _count(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kMG]?)", text.replace("_", ""))
    number = round(float(match[1]) * _SCALES[match[2]]) if match else 0
    if number < 1:
        raise UsageError(f"insns: '{text}' is no count; write such as 500, 20k or 1.5M")
    return number
