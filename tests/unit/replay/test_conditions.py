# SPDX-License-Identifier: GPL-2.0-or-later
"""Code read instruction by instruction; bytes are from the assemblers' listings."""

from __future__ import annotations

import pytest

from gdbext.replay.conditions import scan
from gdbext.replay.kinds import NO_TARGET, Mode


def test_it_block_makes_instructions_predicated_and_returns_effects() -> None:
    # cmp r0, #0; itt eq; moveq r0, #1; bxeq lr; movs r1, #2
    found = scan(Mode.THUMB, 0x100, bytes.fromhex("002804bf012070470221"))

    assert found.addresses == [0x100, 0x102, 0x104, 0x106, 0x108]
    assert found.predicated == {0x104}
    assert found.branches == {0x106: NO_TARGET}
    assert found.effects == {0x106}


def test_a32_conditions_and_branches_are_told_apart() -> None:
    # cmp r0, #0; moveq r0, #1; bne .+0; bleq .+8; bx lr
    code = "000050e30100a003feffff1a0000000b1eff2fe1"
    found = scan(Mode.ARM, 0, bytes.fromhex(code))

    assert found.predicated == {4}
    assert found.branches == {8: 8, 12: 20}
    assert found.effects == {12}


@pytest.mark.parametrize(
    ("mode", "code", "kind"),
    [
        (Mode.A64, "2000821a", "selects"),  # csel w0, w1, w2, eq
        (Mode.A64, "e0179f1a", "selects"),  # cset w0, eq
        (Mode.A64, "0018417a", "selects"),  # ccmp w0, #1, #0, ne
        (Mode.A64, "2000020b", ""),  # add w0, w1, w2
        (Mode.X86_64, "0f44c1", "selects"),  # cmove %ecx, %eax
        (Mode.X86_64, "0f94c0", "selects"),  # sete %al
        (Mode.X86_64, "89c8", ""),  # mov %ecx, %eax
        (Mode.RV64, "33d5c50e", "selects"),  # czero.eqz a0, a1, a2
        (Mode.RV64, "33d5c500", ""),  # srl a0, a1, a2
    ],
)
def test_choices_without_a_branch(mode: Mode, code: str, kind: str) -> None:
    found = scan(mode, 0x40, bytes.fromhex(code))

    assert found.selects == ({0x40} if kind else set())
    assert not found.branches and not found.predicated


def test_fillers_behind_a_branch_or_at_the_end_are_no_code_unless_kept() -> None:
    # b .+4; nop; movs r0, #1; nop; bx lr; nop
    code = bytes.fromhex("00e000bf012000bf704700bf")

    assert scan(Mode.THUMB, 0, code).addresses == [0, 4, 6, 8]
    assert scan(Mode.THUMB, 0, code, kept={2}).addresses == [0, 2, 4, 6, 8]


def test_fillers_of_a_pc_are_known_by_their_names() -> None:
    # ret; nopw 0(%rax,%rax,1); xchg %ax,%ax; mov %edi,%eax; ret
    code = bytes.fromhex("c3660f1f4400006690 89f8 c3".replace(" ", ""))

    assert scan(Mode.X86_64, 0, code).addresses == [0, 9, 11]
