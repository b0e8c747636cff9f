# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions as objdump lists them, and what their mnemonics say about control flow.

The tables here know mnemonics only; the product knows encodings only.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_LINE = re.compile(r"^ *([0-9a-f]+):\t([0-9a-f ]+?) *\t(\S.*)$")
_TARGET = re.compile(r"(?:^|[ ,])(?:0x)?([0-9a-f]+)(?: <.*>)?$")

_REGISTER = re.compile(r"r\d+|ip|lr|s[lbp]|fp")

CONDITIONS = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"


@dataclass(frozen=True)
class Listed:
    """One instruction in a listing."""

    address: int
    code: bytes
    mnemonic: str
    operands: str

    @property
    def target(self) -> int | None:
        """Address that the operands end with."""
        found = _TARGET.search(self.operands)
        return int(found[1], 16) if found else None


@dataclass(frozen=True)
class Said:
    """What a mnemonic says: kind in the words of EndKind, and whether it is predicated."""

    kind: str
    conditional: bool = False


def listing(objdump: str, path: Path, *options: str) -> Iterator[Listed | None]:
    """Yield the instructions of all code sections; None where code is interrupted."""
    text = subprocess.run(
        [objdump, "-d", "-w", *options, str(path)], capture_output=True, text=True, check=True
    ).stdout
    for line in text.splitlines():
        found = _LINE.match(line)
        if not found:
            yield None
            continue
        words = found[2].split()
        code = b"".join(bytes.fromhex(word)[::-1] for word in words)
        mnemonic, _, operands = found[3].partition("\t")
        mnemonic, _, more = mnemonic.strip().partition(" ")
        operands = re.split(r"\s*(?:[;#] |//|@ )", f"{more} {operands}".strip())[0].strip()
        if mnemonic.startswith((".", "(bad)")) or "<UNDEFINED>" in found[3]:
            yield None
        else:
            yield Listed(int(found[1], 16), code, mnemonic, operands)


def arm_says(insn: Listed) -> Said:
    """A32 and Thumb."""
    match = re.fullmatch(
        rf"(b|bl|blx|bx|bxj|bxns|blxns|pop|ldm\w*?|ldr|svc|bkpt|hvc|smc|udf|tb[bh]|cbn?z|eret|rfe\w*|"
        rf"(?:mov|add|sub|orr|bic|and|lsl|rsb|mvn|eor)s?)({CONDITIONS})?(?:\.[nw])?",
        insn.mnemonic,
    )
    if not match:
        return Said("FALL")
    base, condition = match[1], match[2] is not None
    to_pc = insn.operands.split(",")[0] == "pc"
    in_list = re.search(r"\bpc\b[^{]*\}", insn.operands) is not None
    kind = "FALL"
    if base == "b":
        return Said("COND" if condition else "JUMP")
    if base in ("cbz", "cbnz"):
        kind = "COND"
    elif base == "bl" or (
        base == "blx" and not re.fullmatch(r"r\d+|ip|lr|s[lbp]|fp", insn.operands)
    ):
        kind = "CALL"
    elif base in ("blx", "blxns"):
        kind = "CALL_INDIRECT"
    elif base in ("bx", "bxj", "bxns"):
        kind = {"lr": "RETURN", "pc": "JUMP"}.get(insn.operands, "JUMP_INDIRECT")
        if kind == "JUMP" and condition:
            return Said("COND")
    elif base == "pop" or base.startswith("ldm"):
        if in_list:
            kind = "TRAP_RETURN" if "^" in insn.operands else "RETURN"
    elif base in ("svc", "bkpt", "hvc", "smc", "udf"):
        kind = "TRAP_CALL"
    elif base.startswith("tb"):
        kind = "JUMP_INDIRECT"
    elif base == "eret" or base.startswith("rfe"):
        kind = "TRAP_RETURN"
    elif to_pc and base == "ldr":
        kind = "RETURN" if "[sp]," in insn.operands else "JUMP_INDIRECT"
    elif to_pc and base.endswith("s"):
        kind = "TRAP_RETURN"
    elif to_pc:
        kind = "RETURN" if (base, insn.operands) == ("mov", "pc, lr") else "JUMP_INDIRECT"
    return Said(kind, condition and kind != "FALL")


def a64_says(insn: Listed) -> Said:
    """A64."""
    kinds = {
        "b": "JUMP",
        "bl": "CALL",
        "br": "JUMP_INDIRECT",
        "blr": "CALL_INDIRECT",
        "ret": "RETURN",
        "eret": "TRAP_RETURN",
        "drps": "TRAP_RETURN",
        "cbz": "COND",
        "cbnz": "COND",
        "tbz": "COND",
        "tbnz": "COND",
    }
    mnemonic = insn.mnemonic
    if mnemonic.startswith("b."):
        return Said("COND")
    if mnemonic in ("svc", "hvc", "smc", "brk", "hlt", "udf", "dcps1", "dcps2", "dcps3"):
        return Said("TRAP_CALL")
    return Said(kinds.get(re.sub(r"(?<=r|t)a[ab]z?$", "", mnemonic), "FALL"))


def riscv_says(insn: Listed) -> Said:
    """RISC-V with aliases: ret, jr, j and what they stand for."""
    mnemonic, operands = insn.mnemonic.removeprefix("c."), insn.operands
    first = operands.split(",")[0]
    links = ("ra", "t0")
    if mnemonic in ("j", "jal"):
        if mnemonic == "jal" and "," in operands and first not in links:
            return Said("JUMP")
        return Said("JUMP" if mnemonic == "j" else "CALL")
    if mnemonic == "ret":
        return Said("RETURN")
    if mnemonic == "jr":
        source = re.sub(r".*\(|\).*", "", operands)
        return Said("RETURN" if source in links else "JUMP_INDIRECT")
    if mnemonic == "jalr":
        if "," not in operands or first in links:
            return Said("CALL_INDIRECT")
        source = re.sub(r".*\(|\).*", "", operands.split(",", 1)[1])
        return Said("RETURN" if source in links else "JUMP_INDIRECT")
    if re.fullmatch(r"b(eq|ne|lt|ge|gt|le)u?z?", mnemonic):
        return Said("COND")
    if mnemonic in ("ecall", "ebreak", "unimp"):
        return Said("TRAP_CALL")
    return Said("TRAP_RETURN" if mnemonic in ("mret", "sret", "uret", "dret") else "FALL")


def x86_says(insn: Listed) -> Said:
    """x86 in AT&T syntax; prefixes stand before the mnemonic."""
    words = f"{insn.mnemonic} {insn.operands}".split()
    prefixes = r"(bnd|notrack|lock|rep\w*|data(16|32)|addr(16|32)|[cdefgs]s|rex(\.\w+)?|cs|ds)"
    while len(words) > 1 and re.fullmatch(prefixes, words[0]):
        words.pop(0)
    mnemonic, operands = words[0].split(",")[0], " ".join(words[1:])
    if mnemonic == "ljmp" or mnemonic == "lcall":
        return Said("JUMP_INDIRECT" if mnemonic == "ljmp" else "CALL_INDIRECT")
    if re.fullmatch(r"jmp[wlq]?", mnemonic):
        return Said("JUMP_INDIRECT" if "*" in operands else "JUMP")
    if re.fullmatch(r"call[wlq]?", mnemonic):
        return Said("CALL_INDIRECT" if "*" in operands else "CALL")
    if re.fullmatch(r"j\w+|loop\w*", mnemonic):
        return Said("COND")
    if re.fullmatch(r"l?ret[wlq]?", mnemonic):
        return Said("RETURN")
    if re.fullmatch(r"iret[wlq]?|sysret[lq]?|sysexit[lq]?|rsm", mnemonic):
        return Said("TRAP_RETURN")
    if mnemonic in ("int", "int3", "int1", "syscall", "sysenter", "ud2", "ud1", "ud0"):
        return Said("TRAP_CALL")
    if mnemonic in ("icebp", "vmcall", "vmmcall"):
        return Said("TRAP_CALL")
    return Said("TRAP_CALL", conditional=True) if mnemonic == "into" else Said("FALL")


SAYS: Final[dict[str, Callable[[Listed], Said]]] = {
    "arm": arm_says,
    "aarch64": a64_says,
    "riscv32": riscv_says,
    "riscv64": riscv_says,
    "x86_64": x86_says,
}
"""By QEMU's target name."""
