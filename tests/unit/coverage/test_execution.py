# SPDX-License-Identifier: GPL-2.0-or-later
"""Executions of one program add up."""

from __future__ import annotations

from gdbext.coverage.execution import Execution, Outcomes


def test_executions_of_several_recordings_add_up() -> None:
    first = Execution({0: 2, 2: 1}, {2: Outcomes(1, 0)}, {0: 2}, changed=1)
    second = Execution({2: 4, 4: 3}, {2: Outcomes(1, 3), 4: Outcomes(0, 3)}, {0: 1, 4: 3})

    whole = first.add(second)

    assert whole.insns == {0: 2, 2: 5, 4: 3}
    assert whole.outcomes == {2: Outcomes(2, 3), 4: Outcomes(0, 3)}
    assert whole.entries == {0: 3, 4: 3}
    assert whole.changed == 1
