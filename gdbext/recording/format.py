# SPDX-License-Identifier: GPL-2.0-or-later
"""The numbers of docs/trace-format.md, and the fixed headers packed and unpacked.

Twin: qemu-plugin/format.h has the same names.
"""

from __future__ import annotations

import struct
import zlib
from enum import IntEnum, IntFlag

FILE_MAGIC = b"\x89GDBX\r\n\x1a"
FORMAT_VERSION = 1
FILE_HEADER_SIZE = 32
RECORD_MAGIC = b"GXR1"
RECORD_HEADER_SIZE = 24
RECORD_LENGTH_MAX = 1 << 30
RECORD_FLAG_OPTIONAL = 1

BLOCKS_RAW_LENGTH_MAX = 1 << 28
BLOCK_INSNS_MAX = 1024
INSN_BYTES_MAX = 15

CHUNK_RAW_LENGTH_MAX = 1 << 22

RUN_LEB = 63

BLOCKS_FILE_MAGIC = b"GXBLOCK1"
BLOCKS_FILE_HEADER_SIZE = 64
LIVE_MAGIC = b"GXLIVE1\0"
LIVE_BUFFERS_OFFSET = 4096
LIVE_BUFFER_HEADER_SIZE = 64
LIVE_RUN_BITS = 40


class RecordType(IntEnum):
    """Record header, field type."""

    META = 1
    BLOCKS = 2
    CHUNK = 3
    END = 4


class TokenKind(IntEnum):
    """Bits 0 and 1 of a token's first byte."""

    SECOND = 0
    NEW = 1
    EVENT = 2
    END = 3


class Event(IntEnum):
    """What stands between two blocks."""

    CUT = 1
    TRAP = 2
    CONTEXT = 3
    IDLE = 4
    RESUME = 5
    MARK = 6
    RESET = 7
    GAP = 8
    TURN = 9
    SYNC = 10


class Register(IntEnum):
    """Register numbers of CONTEXT; those it does not name are skipped by readers."""

    PROBE = 1
    SP = 2
    SAVED = 3
    RESTORED = 4
    LR = 16
    XPSR = 17
    MSP = 18
    PSP = 19
    CONTROL = 20
    CPSR = 32
    ELR_EL1 = 33
    ESR_EL1 = 34
    FAR_EL1 = 35
    SPSR_EL1 = 36
    SP_EL0 = 37
    PRIV = 48
    MCAUSE = 49
    MEPC = 50
    MTVAL = 51
    SCAUSE = 52
    SEPC = 53
    STVAL = 54
    CS = 64
    SS = 65
    EFLAGS = 66


class Probe(IntFlag):
    """Register PROBE: why the others were read."""

    START = 1
    TRAP = 2
    VECTOR = 4
    RETURN = 8
    SWITCH = 16
    SWITCHED = 32
    ACCESS = 64


class BufferState(IntEnum):
    """Field state of a buffer in `live`."""

    FREE = 0
    FILLING = 1
    FULL = 2


TRAP_KINDS = {1: "interrupt", 2: "exception", 4: "host-call"}
MARK_KINDS = {1: "start", 2: "stop", 3: "text", 4: "limit", 5: "from", 6: "to"}
GAP_FILTERED = 5
GAP_REASONS = {
    1: "disk",
    2: "block-table-full",
    3: "encoder-check",
    4: "unsupported",
    5: "filtered",
}

FILE_HEADER = struct.Struct("<8sHHIQII")  # magic version header_size flags generation reserved crc
RECORD_HEADER = struct.Struct("<4sHHQII")  # magic type flags length payload_crc header_crc
BLOCKS_HEADER = struct.Struct("<IIQ")  # first_id count raw_length
BLOCK_ENTRY = struct.Struct("<QHH")  # address n_insns n_bytes; then sizes, then bytes
CHUNK_HEADER = struct.Struct("<IIQQQQQII")  # vcpu flags seq first_insn n_insns n_blocks time_ns
#                                             raw_length reserved; then the zstd frame
END_ENTRY = struct.Struct("<QQ")  # instructions blocks, for each vCPU
BLOCKS_FILE_HEADER = struct.Struct("<8sQQ")  # magic used generation
LIVE_HELD_OFFSET = 36  # u32: a stop condition has hit (docs/control.md, "Stop conditions")
LIVE_HEADER = struct.Struct("<8sIIQQI")  # magic n_vcpus n_buffers buffer_size generation pid
LIVE_BUFFER = struct.Struct("<QIIIIQQQI")  # word history state vcpu reserved seq time_ns
#                                             cut_word cut


def crc32(data: bytes | memoryview) -> int:
    """CRC-32 as zlib computes it."""
    return zlib.crc32(data)


def pack_file_header(generation: int = 0) -> bytes:
    """The 32 bytes at the start of a recording file."""
    body = FILE_HEADER.pack(FILE_MAGIC, FORMAT_VERSION, FILE_HEADER_SIZE, 0, generation, 0, 0)[:-4]
    return body + crc32(body).to_bytes(4, "little")


def pack_record_header(type_: int, payload: bytes, flags: int = 0) -> bytes:
    """The 24 bytes before a record's payload."""
    body = RECORD_HEADER.pack(RECORD_MAGIC, type_, flags, len(payload), crc32(payload), 0)[:-4]
    return body + crc32(body).to_bytes(4, "little")


def pack_leb(value: int) -> bytes:
    """Unsigned LEB128.

    Raises:
        ValueError: negative, or more than 64 bits.
    """
    if not 0 <= value < 1 << 64:
        raise ValueError(f"{value} is no unsigned 64-bit number")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def unpack_leb(data: bytes | memoryview, offset: int) -> tuple[int, int]:
    """The unsigned LEB128 number at `offset`, and the offset behind it.

    Raises:
        ValueError: it does not end inside `data`, or has more than 64 bits.
    """
    value = 0
    shift = 0
    while True:
        if offset >= len(data) or shift > 63:
            raise ValueError("number is cut short or longer than 64 bits")
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    if value >= 1 << 64:
        raise ValueError("number has more than 64 bits")
    return value, offset
