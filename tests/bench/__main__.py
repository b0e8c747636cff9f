# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m tests.bench`: measure, print the table, and write it to files on request."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from gdbext.errors import GdbextError
from gdbext.target.qemu_binary import FAMILIES
from tests.bench import covering, execlog, question, recorder, replaying, sessions, table, uboot
from tests.bench.machine import ROOT, busy, describe, find_qemus
from tests.bench.settings import Settings
from tests.bench.table import Row

GROUPS: Final[dict[str, Callable[[Settings], list[Row]]]] = {
    "recorder": recorder.rows,
    "uboot": uboot.rows,
    "replay": replaying.rows,
    "question": question.rows,
    "coverage": covering.rows,
    "execlog": execlog.rows,
    "sessions": sessions.rows,
}


def main(arguments: Sequence[str]) -> int:
    """Measure what the command line asks for; the exit status."""
    options = _parser().parse_args(arguments)
    groups = list(GROUPS) if options.rows is None else options.rows.split(",")
    unknown = [name for name in groups if name not in GROUPS]
    if unknown:
        _say(f"--rows: no group '{unknown[0]}'; groups: {', '.join(GROUPS)}")
        return 2
    try:
        rows, machine = _measure(options, groups)
    except GdbextError as error:
        _say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    print(_machine_line(machine), *_caveats(machine), "", sep="\n")
    print(table.text(rows), end="")
    if options.json:
        text = json.dumps(table.as_json(rows, machine), indent=2)
        options.json.write_text(text + "\n")
    if options.markdown:
        options.markdown.write_text(_document(rows, machine))
    return 0


def _measure(
    options: argparse.Namespace, groups: Sequence[str]
) -> tuple[list[Row], dict[str, Any]]:
    qemus = find_qemus(own=options.own)
    machine = describe(qemus)
    if busy(machine):
        _say(busy(machine))
    directory = options.directory.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    settings = Settings(
        qemus=qemus,
        rounds=options.rounds or (2 if options.quick else 7),
        warm_up=0 if options.quick else 1,
        seconds=1.0 if options.quick else 3.0,
        all_boards=options.all,
        directory=directory,
        say=_say,
    )
    rows = []
    for name in groups:
        rows += GROUPS[name](settings)
    return table.in_order(rows), machine


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description="Measure what recording and analysing cost."
    )
    parser.add_argument(
        "--quick", action="store_true", help="few rounds of short runs: a rough look"
    )
    parser.add_argument("--rows", metavar="GROUPS", help=f"only some of: {','.join(GROUPS)}")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds (default 7; quick: 2)")
    parser.add_argument("--all", action="store_true", help="the benchmark firmware on every board")
    parser.add_argument("--own", action="store_true", help="only the machine's own QEMU")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page for docs/")
    parser.add_argument(
        "--directory",
        type=Path,
        metavar="DIR",
        default=ROOT / "build" / "bench",
        help="for recordings; on a disk (default build/bench)",
    )
    return parser


def _machine_line(machine: dict[str, Any]) -> str:
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}; "
        f"QEMU {', '.join(machine['qemu'])}"
    )


def _caveats(machine: dict[str, Any]) -> list[str]:
    """Lines that say what is wrong with these numbers, or missing."""
    missing = [family for family in FAMILIES if not any(family in name for name in machine["qemu"])]
    lines = [busy(machine)] if busy(machine) else []
    if missing:
        lines.append(f"Not measured: QEMU of plugin API family {', '.join(missing)}.")
    return lines


def _document(rows: Sequence[Row], machine: dict[str, Any]) -> str:
    missed = sum(row.mark == "MISSED" for row in rows)
    verdict = f"{missed} limits are missed." if missed else "All limits are kept."
    return f"""<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- Made by `python -m tests.bench --markdown FILE`. -->
# Speed and size

`make bench` measures this. The runs of a comparison take turns, every second round backwards; a
ratio is that of one round, the table has the median over `n` rounds with the smallest and the
largest. Time is from QEMU's start to the end of the guest's work, and `note` has the same ratio for
QEMU's processor time, all its threads together. Rows without limits are for comparison. The mark
says what the median reaches: the aim (`aim`), the limit (`ok`), or not (`MISSED`). {verdict}

Measured on: {_machine_line(machine)}.
{"".join(f"{line}{chr(10)}" for line in _caveats(machine))}
{table.markdown(rows)}"""


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
