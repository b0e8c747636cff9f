# SPDX-License-Identifier: GPL-2.0-or-later
"""GDB's own `trace LOCATION`, which our prefix command hides, done through MI."""

from __future__ import annotations

import re

import gdb

__all__ = ["mi_command", "set_tracepoint"]

# What ends a location in GDB's grammar.
_KEYWORD = re.compile(r"(?:^|\s)(if\b|thread\s+\S+|task\s+\S+)|\s(-force-condition)\b")
_EXPLICIT = re.compile(r"(?:^|(?<=\s))-(source|function|line|label|qualified)\b")


def set_tracepoint(arguments: str) -> None:
    """Set a tracepoint as GDB's `trace ARGUMENTS` does, and print what it prints.

    Raises:
        gdb.GdbError: GDB refuses; with its message.
    """
    command = mi_command(arguments, pending=gdb.parameter("breakpoint pending") is True)
    quoted = command.replace("\\", "\\\\").replace('"', '\\"')
    answer = gdb.execute(f'interpreter-exec mi "{quoted}"', to_string=True)
    result = ""
    for line in answer.splitlines():
        if line.startswith("&"):
            gdb.write(_unquoted(line[1:].strip('"')), gdb.STDERR)
        elif line.startswith("^"):
            result = line
    if result.startswith("^error"):
        message = re.search(r'msg="((?:[^"\\]|\\.)*)"', result)
        raise gdb.GdbError(_unquoted(message[1]) if message else result)
    gdb.write(_announcement(result))


def mi_command(arguments: str, *, pending: bool = False) -> str:
    """`trace`'s arguments as an MI command: `-break-insert -a ... LOCATION`."""
    location, condition, options = arguments.strip(), "", ["-a"]
    if pending:
        options.append("-f")
    while match := _KEYWORD.search(location):
        word = match[1] or match[2]
        if word == "if":
            condition = location[match.end() :].strip()
            location = location[: match.start()].strip()
            continue
        if word == "-force-condition":
            options.append("--force-condition")
        elif word.startswith("thread"):
            options += ["-p", word.split()[1]]
        else:
            raise gdb.GdbError("a tracepoint with a task is not possible here")
        location = f"{location[: match.start()]} {location[match.end() :]}".strip()
    if condition:
        options += ["-c", _quoted(condition)]
    if not location:
        location = "*$pc"
    if _EXPLICIT.search(location):
        return " ".join(["-break-insert", *options, _EXPLICIT.sub(r"--\1", location)])
    # `--`: a location that begins with a dash is for GDB to complain about, not an option of MI.
    return " ".join(["-break-insert", *options, "--", _quoted(location)])


def _announcement(result: str) -> str:
    """GDB's line about a new tracepoint, from MI's answer."""
    whole, _, locations = result.partition("locations=")
    fields = _fields(whole)
    count = len(re.findall(r'number="\d+\.\d+"', locations))
    if count == 1:
        fields = {**_fields(locations), "number": fields["number"]}
    number = fields.get("number", "?")
    if "pending" in fields:
        return f"Tracepoint {number} ({_unquoted(fields['pending'])}) pending.\n"
    address = fields.get("addr", "?")
    if address == "<MULTIPLE>":
        where = fields.get("original-location", "?")
        return f"Tracepoint {number} at {_unquoted(where)}. ({count} locations)\n"
    address = f"{int(address, 16):#x}" if address.startswith("0x") else address
    if "file" in fields:
        file = _unquoted(fields["file"])
        return f"Tracepoint {number} at {address}: file {file}, line {fields['line']}.\n"
    return f"Tracepoint {number} at {address}\n"


def _fields(text: str) -> dict[str, str]:
    return dict(re.findall(r'([\w-]+)="((?:[^"\\]|\\.)*)"', text))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _unquoted(text: str) -> str:
    escapes = {"n": "\n", "t": "\t"}
    return re.sub(r"\\(.)", lambda match: escapes.get(match[1], match[1]), text)
