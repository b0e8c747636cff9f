# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of sessions as JUnit XML, as Jenkins, GitLab and GitHub's actions read it.

Schema: https://github.com/testmoapp/junitxml (the common subset).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdbext.session.runner import CaseResult

__all__ = ["junit_xml"]

# Letters that XML 1.0 does not allow, not even escaped.
_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(results: Sequence[CaseResult]) -> str:
    """The document; a suite for each session, a case for each of its combinations."""
    root = ElementTree.Element("testsuites", _totals(results))
    names = dict.fromkeys((result.file, result.name) for result in results)
    for file, name in names:
        cases = [result for result in results if (result.file, result.name) == (file, name)]
        suite = ElementTree.SubElement(root, "testsuite", {"name": name, **_totals(cases)})
        for case in cases:
            _add_case(suite, case)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _totals(results: Sequence[CaseResult]) -> dict[str, str]:
    return {
        "tests": str(len(results)),
        "failures": str(sum(result.verdict == "failed" for result in results)),
        "errors": str(sum(result.verdict == "error" for result in results)),
        "time": f"{sum(result.time_s for result in results):.3f}",
    }


def _add_case(suite: ElementTree.Element, case: CaseResult) -> None:
    element = ElementTree.SubElement(
        suite,
        "testcase",
        {
            "classname": _clean(case.name),
            "name": _clean(case.label or case.name),
            "file": _clean(case.file),
            "time": f"{case.time_s:.3f}",
        },
    )
    if case.verdict != "passed":
        kind = "failure" if case.verdict == "failed" else "error"
        problem = ElementTree.SubElement(element, kind, {"message": _clean(case.message)})
        problem.text = _clean(case.message)
    output = ElementTree.SubElement(element, "system-out")
    steps = "".join(
        f"{step.line}: {step.step} ({step.time_s:.2f} s)\n"
        + "".join(f"    {line}\n" for line in step.said.splitlines())
        for step in case.steps
    )
    console = f"\nconsole:\n{case.console_tail}" if case.console_tail else ""
    output.text = _clean(steps + console)


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
