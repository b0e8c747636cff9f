# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a DWARF line number program (versions 2 to 5, DWARF 5 section 6.2).

The header comes from pyelftools; the opcodes are run here, because pyelftools keeps an object for
every opcode and needs about ten times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elftools.dwarf.lineprogram import LineProgram


class Row(NamedTuple):
    """Instructions [start, end) of one line; `file` counts in the program's file table."""

    start: int
    end: int
    file: int
    line: int
    column: int
    is_stmt: bool


class Sequence(NamedTuple):
    """Rows that follow each other in memory without a hole: [start, end)."""

    start: int
    end: int
    rows: list[Row]


def file_names(program: LineProgram, directory: str) -> list[str]:
    """Paths by file number, as addr2line prints them; `directory` is the unit's DW_AT_comp_dir."""
    header = program.header
    version_5 = header["version"] >= 5
    folders = [_text(name) for name in header["include_directory"]]
    if version_5:
        folders = [_join(directory, name) for name in folders]
    else:
        folders = [directory] + [_join(directory, name) for name in folders]
    names = []
    for entry in header["file_entry"]:
        folder = entry.dir_index if hasattr(entry, "dir_index") else 0
        prefix = folders[folder] if folder < len(folders) else directory
        names.append(_join(prefix, _text(entry.name)))
    return names if version_5 else ["", *names]


def sequences(
    program: LineProgram, data: bytes, address_size: int, little_endian: bool
) -> Iterator[Sequence]:
    """Yield the sequences of a program, in its order; `data` is the whole `.debug_line` section.

    Of several rows at one address only the last one holds instructions; the others are left out.
    It is a statement's start if one of them is that of the same line.
    """
    rows: list[list[int]] = []
    for row in _states(program, data, address_size, little_endian):
        if row[5]:
            finished = _sequence(rows, row[0])
            if finished is not None:
                yield finished
            rows = []
        else:
            rows.append(row)


def uleb(data: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned LEB128 number; return it and the place behind it."""
    value = data[at]
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    shift = 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _sequence(rows: list[list[int]], end: int) -> Sequence | None:
    if not rows:
        return None
    rows.sort(key=lambda row: row[0])  # stable; DWARF 5 forbids going back, old compilers do
    limits = [row[0] for row in rows[1:]] + [end]
    kept = []
    here: set[tuple[int, int]] = set()  # lines whose statements start at this address
    for row, limit in zip(rows, limits, strict=True):
        address, file, line, column, is_stmt, _ = row
        if is_stmt:
            here.add((file, line))
        if address < limit:
            kept.append(Row(address, limit, file, line, column, (file, line) in here))
            here.clear()
    return Sequence(rows[0][0], end, kept) if end > rows[0][0] else None


def _states(
    program: LineProgram, data: bytes, address_size: int, little_endian: bool
) -> Iterator[list[int]]:
    """Yield [address, file, line, column, is_stmt, end_sequence] for each row of the matrix."""
    header = program.header
    base = header["opcode_base"]
    line_base, line_range = header["line_base"], header["line_range"]
    unit = header["minimum_instruction_length"]
    default_stmt = int(bool(header["default_is_stmt"]))
    lengths = [0, *header["standard_opcode_lengths"]]
    order = "little" if little_endian else "big"
    at, stop = program.program_start_offset, min(program.program_end_offset, len(data))
    mask = (1 << 8 * address_size) - 1
    address, file, line, column, stmt = 0, 1, 1, 0, default_stmt
    while at < stop:
        opcode = data[at]
        at += 1
        if opcode >= base:
            opcode -= base
            address = (address + opcode // line_range * unit) & mask
            line += line_base + opcode % line_range
            yield [address, file, line, column, stmt, 0]
        elif opcode == 0:
            size, at = uleb(data, at)
            kind = data[at]
            if kind == 1:
                yield [address, file, line, column, stmt, 1]
                address, file, line, column, stmt = 0, 1, 1, 0, default_stmt
            elif kind == 2:
                address = int.from_bytes(data[at + 1 : at + size], order)  # type: ignore[arg-type]
            at += size
        elif opcode == 1:
            yield [address, file, line, column, stmt, 0]
        elif opcode == 2:
            step, at = uleb(data, at)
            address = (address + step * unit) & mask
        elif opcode == 3:
            step, at = _sleb(data, at)
            line += step
        elif opcode == 4:
            file, at = uleb(data, at)
        elif opcode == 5:
            column, at = uleb(data, at)
        elif opcode == 6:
            stmt ^= 1
        elif opcode == 8:
            address = (address + (255 - base) // line_range * unit) & mask
        elif opcode == 9:
            address = (address + int.from_bytes(data[at : at + 2], order)) & mask  # type: ignore[arg-type]
            at += 2
        else:  # 7, 10, 11, 12 and those of later standards: no effect on what is kept
            for _ in range(lengths[opcode]):
                _, at = uleb(data, at)


def _sleb(data: bytes, at: int) -> tuple[int, int]:
    start = at
    value, at = uleb(data, at)
    bits = 7 * (at - start)
    return (value - (1 << bits) if value >> (bits - 1) else value), at


def _text(name: bytes | str) -> str:
    return name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else name


def _join(folder: str, name: str) -> str:
    return name if name.startswith("/") or not folder else f"{folder.rstrip('/')}/{name}"
