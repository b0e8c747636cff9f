# SPDX-License-Identifier: GPL-2.0-or-later
"""Exceptions: frames left by their landing pads, compared with the books that the program keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.engine.runs import (
    FindQemu,
    assert_books_of_calls,
    assert_sums,
    run,
)


@pytest.mark.parametrize("variant", ["O0", "O2"])
def test_landing_pads_belong_to_the_activations_that_the_unwinder_went_to(
    variant: str, find_qemu: FindQemu, tmp_path: Path
) -> None:
    books, found = run("unwinds", "mps2-an385", variant, find_qemu, tmp_path)

    assert_books_of_calls(books, found)
    assert_sums(found)
    calls = found.calls()
    assert calls["_Unwind_Resume"] > 0 < calls["_Unwind_ForcedUnwind"]
    assert found.stats.unwinds > calls["_Unwind_Resume"]
    assert 0 < found.stats.ambiguous_unwinds < calls["_Unwind_Resume"]
    stats = found.stats
    assert stats.unmatched_returns == stats.above_start == stats.unexplained == stats.late == 0
