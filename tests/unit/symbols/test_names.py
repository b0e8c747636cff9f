# SPDX-License-Identifier: GPL-2.0-or-later
"""The shorter names under which C++ and Rust functions are found."""

from __future__ import annotations

import pytest

from gdbext.symbols.demangling import demangle, short_names
from gdbext.symbols.intervals import Intervals


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ns::C<int>::f<char>(int)", {"ns::C<int>::f<char>", "ns::C<int>::f", "f<char>", "f"}),
        ("void ns::g<int>(int)", {"ns::g<int>", "ns::g", "g<int>", "g"}),
        ("a::uart::send", {"a::uart::send", "uart::send", "send"}),
        ("operator<<(std::ostream&, X const&)", {"operator<<"}),
        ("std::F<int (char)>::operator()(char) const", {"F<int (char)>::operator()", "operator()"}),
        ("(anonymous namespace)::hidden(int)", {"(anonymous namespace)::hidden", "hidden"}),
        ("<a::B as c::D>::run", {"run"}),
        ("ns::f(int) [clone .part.0]", {"ns::f(int) [clone .part.0]"}),
    ],
)
def test_short_names_leave_out_parameters_and_namespaces(name: str, expected: set[str]) -> None:
    assert expected <= short_names(name)
    assert not any(short.startswith(("::", "<", " ")) for short in short_names(name) - {name})


def test_a_clone_is_not_found_as_its_function() -> None:
    assert "f" not in short_names("ns::f(int) [clone .part.0]")


@pytest.mark.parametrize("name", ["main", "_start", "_Zzz", "_R", "", "$x", "sub_8000", "_ZN"])
def test_what_is_not_mangled_stays(name: str) -> None:
    assert demangle(name) == name


def test_intervals_find_the_innermost_of_nested_and_overlapping_ranges() -> None:
    ranges = [(0, 100), (10, 20), (12, 14), (15, 60), (30, 40), (200, 210)]
    intervals = Intervals(ranges)

    for address in range(220):
        expected = [i for i, (low, high) in enumerate(ranges) if low <= address < high]
        assert sorted(intervals.covering(address)) == expected
        assert intervals.first(address) == (expected[-1] if expected else None)
