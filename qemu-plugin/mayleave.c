/*
 * Opcode tests: instructions that surely neither touch memory nor trap. Sources: the encoding indexes of the Arm
 * Architecture Reference Manuals (ARMv7-M A5, ARMv8-A C4), the RISC-V unprivileged specification chapter "RV32/64G
 * Instruction Set Listings", Intel SDM volume 2 appendix A.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mayleave.h"

#include <string.h>

Arch arch_of_target(const char *target_name)
{
    if (!strcmp(target_name, "arm")) {
        return ARCH_ARM;
    }
    if (!strcmp(target_name, "aarch64")) {
        return ARCH_AARCH64;
    }
    if (!strncmp(target_name, "riscv", 5)) {
        return ARCH_RISCV;
    }
    if (!strcmp(target_name, "x86_64") || !strcmp(target_name, "i386")) {
        return ARCH_X86;
    }
    return ARCH_OTHER;
}

Arch arch_of_block(Arch arch, size_t n_insns, const uint8_t *sizes, const uint8_t *bytes)
{
    for (size_t i = 0; arch == ARCH_ARM && i < n_insns; bytes += sizes[i++]) {
        if (sizes[i] == 2) {
            return ARCH_T32;
        }
        if (bytes[1] < 0xE8) {
            return ARCH_A32;
        }
    }
    return arch;
}

/* 16-bit Thumb: shift, add, compare, move, data processing, special data except bx; hints, it, extend; branches. */
static bool thumb16_is_plain(uint16_t op)
{
    if (op < 0x4700) {
        return true;
    }
    switch (op >> 12) {
    case 0xA: /* adr, add sp */
        return true;
    case 0xB:
        return (op & 0xFF00) == 0xB000 || (op & 0xFF00) == 0xB200 || (op & 0xFFC0) == 0xBA00 ||
               (op & 0xFFC0) == 0xBA40 || ((op & 0xFF00) == 0xBF00 && (op & 0xF));
    default:
        return false;
    }
}

/* 32-bit Thumb, first halfword: data processing (shifted register, modified and plain immediate, register), multiply. */
static bool thumb32_is_plain(uint16_t first, uint16_t second)
{
    if ((first & 0xFE00) == 0xEA00) {
        return true;
    }
    if ((first & 0xF800) == 0xF000 && !(second & 0x8000)) {
        return true;
    }
    if ((first & 0xFF00) == 0xFA00) {
        return true;
    }
    return (first & 0xFF80) == 0xFB00 || ((first & 0xFF80) == 0xFB80 && (first & 0xFFD0) != 0xFB90);
}

/* A32: conditional data processing (immediate and register) that does not write PC; multiply; movw, movt. */
static bool a32_is_plain(uint32_t op)
{
    if (op >> 28 == 0xF || (op & 0x0000F000) == 0x0000F000) {
        return false;
    }
    if ((op & 0x0E000000) == 0x02000000) { /* immediate; not msr/hint, which have S clear and opcode 10xx */
        return (op & 0x01900000) != 0x01000000 || (op & 0x0FB00000) == 0x03000000;
    }
    if ((op & 0x0E000000) == 0) {
        return (op & 0x01900000) != 0x01000000 && !((op & 0x90) == 0x90);
    }
    return false;
}

static bool a64_is_plain(uint32_t op)
{
    const unsigned group = op >> 25 & 0xF;

    return group == 8 || group == 9 || group == 5 || group == 13; /* data processing: immediate, register */
}

static bool riscv_is_plain(uint32_t op, size_t size)
{
    if (size == 2) {
        const unsigned f3 = op >> 13 & 7;

        if ((op & 3) == 0) {
            return f3 == 0 && (op & 0xFFFF); /* c.addi4spn; 0 is illegal */
        }
        if ((op & 3) == 1) { /* c.addi, c.jal/c.addiw, c.li, c.lui/c.addi16sp, ALU; then branches */
            return f3 != 1 || (op & 0xF80);
        }
        return f3 == 0 || (f3 == 4 && (op >> 2 & 0x1F)); /* c.slli, c.mv, c.add */
    }
    switch (op & 0x7F) {
    case 0x13: /* OP-IMM */
    case 0x1B: /* OP-IMM-32 */
    case 0x17: /* AUIPC */
    case 0x37: /* LUI */
        return true;
    case 0x33: /* OP and M; others may be unknown to this CPU */
    case 0x3B:
        return (op >> 25 == 0) || (op >> 25 == 1) || (op >> 25 == 0x20);
    default:
        return false;
    }
}

/* x86: register-only moves and ALU operations with at most a REX prefix, lea, immediate moves. */
static bool x86_is_plain(const uint8_t *b, size_t size)
{
    size_t i = 0;
    uint8_t op;

    if (size > 1 && (b[0] & 0xF0) == 0x40) {
        i = 1; /* REX in 64-bit code, inc or dec (plain too, and one byte long) elsewhere */
    }
    op = b[i];
    if (i + 1 >= size) {
        return op == 0x90;
    }
    if (op == 0x8D || (op >= 0xB8 && op <= 0xBF)) {
        return true;
    }
    if ((op < 0x40 && (op & 7) < 4) || op == 0x84 || op == 0x85 || (op >= 0x88 && op <= 0x8B) || op == 0x80 ||
        op == 0x81 || op == 0x83 || op == 0xC1 || op == 0xD1 || op == 0xD3) {
        return b[i + 1] >= 0xC0;
    }
    return false;
}

bool insn_may_leave(Arch arch, const uint8_t *bytes, size_t size)
{
    uint16_t h[2] = {0, 0};
    uint32_t word = 0;

    if (size >= 2) {
        memcpy(h, bytes, 2);
        word = h[0];
    }
    if (size >= 4) {
        memcpy(h, bytes, 4);
        memcpy(&word, bytes, 4);
    }
    switch (arch) {
    case ARCH_ARM:
        return insn_may_leave(ARCH_T32, bytes, size) || insn_may_leave(ARCH_A32, bytes, size);
    case ARCH_T32:
        return !(size == 2 ? thumb16_is_plain(h[0]) : size == 4 && thumb32_is_plain(h[0], h[1]));
    case ARCH_A32:
        return !(size == 4 && a32_is_plain(word));
    case ARCH_AARCH64:
        return !(size == 4 && a64_is_plain(word));
    case ARCH_RISCV:
        return !((size == 2 || size == 4) && riscv_is_plain(word, size));
    case ARCH_X86:
        return !x86_is_plain(bytes, size);
    default:
        return true;
    }
}
