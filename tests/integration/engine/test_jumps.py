# SPDX-License-Identifier: GPL-2.0-or-later
"""longjmp into recursive functions, compared with the books that the program keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.engine.runs import (
    BOARDS,
    FindQemu,
    assert_books_of_calls,
    assert_sums,
    run,
)


@pytest.mark.parametrize("variant", ["O0", "O2"])
@pytest.mark.parametrize("board_name", BOARDS)
def test_longjmp_goes_to_the_activation_that_called_setjmp(
    board_name: str, variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("jumps", board_name, variant, find_qemu, tmp_path)

    assert_books_of_calls(books, found)
    assert_sums(found)
    stats = found.stats
    assert stats.unmatched_returns == stats.above_start == stats.unexplained == stats.late == 0
    assert stats.abandoned == stats.task_switches == stats.context_starts == 0
    # Several activations of `trier` wait at a time; of the others one does.
    several = sum(
        calls
        for path, calls in books.paths.items()
        if path.endswith("/raise") and path.count("/trier") > 1
    )
    assert 0 < stats.ambiguous_unwinds == several
