# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage as comma-separated values, a row for each source line."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gdbext.coverage.model import Coverage

__all__ = ["lines_csv"]

_COLUMNS: Final = (
    *("file", "line", "count", "state", "insns_covered", "insns_total"),
    *("branches_covered", "branches_total", "excluded"),
)


def lines_csv(coverage: Coverage) -> str:
    """A row of titles, then lines that have code, by file and number.

    The count of an undecided line is empty; `excluded` is the reason.
    """
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for file in coverage.files:
        branches: dict[int, list[int]] = {}
        for branch in file.branches:
            if branch.line is not None:
                both = branches.setdefault(branch.line, [0, 0])
                both[0] += branch.outcomes.covered
                both[1] += branch.outcomes.total
        for line in file.lines:
            count = "" if line.count is None else line.count
            outcomes = branches.get(line.line, (0, 0))
            rows.writerow(
                (
                    *(file.path, line.line, count, line.state, *line.insns, *outcomes),
                    line.excluded or "",
                )
            )
    return out.getvalue()
