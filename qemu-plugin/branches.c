/*
 * Direct branches. Sources: the encoding indexes of the Arm Architecture Reference Manuals (ARMv7-M A5.2 and A5.3, ARMv7-A
 * A5, ARMv8-A C4), the RISC-V unprivileged specification ("Control Transfer Instructions", "C" extension), Intel SDM
 * volume 2 appendix A.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "branches.h"

#include <string.h>

#include "format.h"

typedef enum { END_UNKNOWN, END_INDIRECT, END_NEXT, END_BRANCH } End;

static int64_t sign_extend(uint64_t value, unsigned bits) { return (int64_t)(value << (64 - bits)) >> (64 - bits); }

static unsigned bits(uint32_t op, unsigned low, unsigned n) { return op >> low & ((1u << n) - 1); }

static End thumb16(uint16_t op, int64_t *offset)
{
    if ((op & 0xF000) == 0xD000) {
        *offset = 4 + 2 * sign_extend(op & 0xFF, 8);
        return (op & 0x0F00) == 0x0E00 ? END_UNKNOWN : (op & 0x0F00) == 0x0F00 ? END_NEXT : END_BRANCH; /* udf, svc */
    }
    if ((op & 0xF800) == 0xE000) {
        *offset = 4 + 2 * sign_extend(op & 0x7FF, 11);
        return END_BRANCH;
    }
    if ((op & 0xF500) == 0xB100) { /* cbz, cbnz */
        *offset = 4 + (int64_t)(bits(op, 9, 1) << 6 | bits(op, 3, 5) << 1);
        return END_BRANCH;
    }
    return (op & 0xFD87) == 0x4487 ? END_INDIRECT : END_UNKNOWN; /* add pc, mov pc */
}

static End thumb32(uint64_t address, uint16_t first, uint16_t second, int64_t *offset)
{
    const uint32_t s = bits(first, 10, 1), j1 = bits(second, 13, 1), j2 = bits(second, 11, 1);
    const uint64_t low = (uint64_t)(second & 0x7FF) << 1;

    if ((first & 0xF800) != 0xF000 || !(second & 0x8000)) {
        return END_UNKNOWN;
    }
    if ((second & 0xD000) == 0x8000) {
        if (bits(first, 6, 4) >= 14) {
            return END_UNKNOWN; /* no branch: system */
        }
        *offset = 4 + sign_extend((uint64_t)s << 20 | j2 << 19 | j1 << 18 | bits(first, 0, 6) << 12 | low, 21);
        return END_BRANCH;
    }
    *offset = 4 + sign_extend((uint64_t)s << 24 | (uint64_t)(~(j1 ^ s) & 1) << 23 | (uint64_t)(~(j2 ^ s) & 1) << 22 |
                                  (uint64_t)bits(first, 0, 10) << 12 | low,
                              25);
    if ((second & 0xD000) == 0xC000) { /* blx: to a word */
        *offset -= (int64_t)(address & 2);
    }
    return END_BRANCH;
}

static End a32(uint32_t op, int64_t *offset)
{
    if ((op & 0x0F000000) == 0x0F000000) {
        return op >> 28 == 0xF ? END_UNKNOWN : END_NEXT; /* svc */
    }
    if ((op & 0x0E000000) != 0x0A000000) {
        return END_UNKNOWN;
    }
    *offset = 8 + 4 * sign_extend(op & 0xFFFFFF, 24) + (op >> 28 == 0xF ? 2 * bits(op, 24, 1) : 0);
    return END_BRANCH;
}

static End a64(uint32_t op, int64_t *offset)
{
    if ((op & 0x7C000000) == 0x14000000) {
        *offset = 4 * sign_extend(op & 0x3FFFFFF, 26);
    } else if ((op & 0xFF000000) == 0x54000000 || (op & 0x7E000000) == 0x34000000) {
        *offset = 4 * sign_extend(bits(op, 5, 19), 19);
    } else if ((op & 0x7E000000) == 0x36000000) {
        *offset = 4 * sign_extend(bits(op, 5, 14), 14);
    } else {
        return (op & 0xFFE0001F) == 0xD4000001 ? END_NEXT : END_UNKNOWN; /* svc */
    }
    return END_BRANCH;
}

static End riscv(uint32_t op, size_t size, int64_t *offset)
{
    if (size == 2) {
        const unsigned f3 = bits(op, 13, 3);

        if ((op & 3) != 1) {
            return END_UNKNOWN;
        }
        if (f3 == 1 || f3 == 5) { /* c.jal (RV64: c.addiw, which ends no block by itself), c.j */
            *offset = sign_extend((uint64_t)bits(op, 12, 1) << 11 | bits(op, 11, 1) << 4 | bits(op, 9, 2) << 8 |
                                      bits(op, 8, 1) << 10 | bits(op, 7, 1) << 6 | bits(op, 6, 1) << 7 |
                                      bits(op, 3, 3) << 1 | bits(op, 2, 1) << 5,
                                  12);
            return END_BRANCH;
        }
        if (f3 >= 6) {
            *offset = sign_extend((uint64_t)bits(op, 12, 1) << 8 | bits(op, 10, 2) << 3 | bits(op, 5, 2) << 6 |
                                      bits(op, 3, 2) << 1 | bits(op, 2, 1) << 5,
                                  9);
            return END_BRANCH;
        }
        return END_UNKNOWN;
    }
    if ((op & 0x7F) == 0x6F) {
        *offset = sign_extend((uint64_t)bits(op, 31, 1) << 20 | bits(op, 21, 10) << 1 | bits(op, 20, 1) << 11 |
                                  bits(op, 12, 8) << 12,
                              21);
        return END_BRANCH;
    }
    if ((op & 0x7F) == 0x63) {
        *offset = sign_extend(
            (uint64_t)bits(op, 31, 1) << 12 | bits(op, 25, 6) << 5 | bits(op, 8, 4) << 1 | bits(op, 7, 1) << 11, 13);
        return END_BRANCH;
    }
    return op == 0x73 ? END_NEXT : END_UNKNOWN; /* ecall */
}

/* Prefixes change nothing but the size of the offset, which is what is left of the instruction. */
static End x86(const uint8_t *p, size_t size, int64_t *offset)
{
    const size_t whole = size;
    uint32_t low = 0;

    while (size && (*p == 0x66 || *p == 0xF2 || *p == 0xF3 || *p == 0x2E || *p == 0x3E || (*p & 0xF0) == 0x40)) {
        p++;
        size--;
    }
    if (size >= 2 && p[0] == 0x0F && (p[1] == 0x05 || p[1] == 0x34)) { /* syscall, sysenter */
        return END_NEXT;
    }
    if (size == 2 && p[0] == 0xCD) { /* int */
        return END_NEXT;
    }
    if (size == 2 && ((p[0] & 0xF0) == 0x70 || p[0] == 0xEB || (p[0] & 0xFC) == 0xE0)) {
        *offset = (int64_t)whole + (int8_t)p[1];
        return END_BRANCH;
    }
    if (size >= 4 && p[0] == 0x0F && (p[1] & 0xF0) == 0x80) {
        p += 2;
        size -= 2;
    } else if (size >= 3 && (p[0] == 0xE8 || p[0] == 0xE9)) {
        p++;
        size--;
    } else {
        return END_UNKNOWN;
    }
    if (size != 2 && size != 4) {
        return END_UNKNOWN;
    }
    memcpy(&low, p, size);
    *offset = (int64_t)whole + sign_extend(low, (unsigned)size * 8);
    return END_BRANCH;
}

static End end_of(Arch arch, uint64_t address, const uint8_t *p, size_t size, int64_t *offset)
{
    switch (arch) {
    case ARCH_T32:
        return size == 2 ? thumb16(gx_get16(p), offset) : thumb32(address, gx_get16(p), gx_get16(p + 2), offset);
    case ARCH_A32:
        return a32(gx_get32(p), offset);
    case ARCH_AARCH64:
        return a64(gx_get32(p), offset);
    case ARCH_RISCV:
        return riscv(size == 2 ? gx_get16(p) : gx_get32(p), size, offset);
    case ARCH_X86:
        return x86(p, size, offset);
    default:
        return END_UNKNOWN;
    }
}

unsigned branch_successors(Arch arch, uint64_t address, unsigned n_insns, const uint8_t *sizes, const uint8_t *bytes,
                           uint64_t successors[2])
{
    const uint64_t mask = address >> 32 ? UINT64_MAX : UINT32_MAX;
    size_t size;
    int64_t offset = 0;
    End end;

    for (unsigned i = 0; i + 1 < n_insns; i++) {
        address += sizes[i];
        bytes += sizes[i];
    }
    size = sizes[n_insns - 1];
    end = end_of(arch, address, bytes, size, &offset);
    if (end == END_INDIRECT || (end == END_UNKNOWN && insn_may_leave(arch, bytes, size))) {
        return 0;
    }
    successors[0] = (address + size) & mask;
    successors[1] = (address + (uint64_t)offset) & mask;
    return end == END_BRANCH ? 2 : 1;
}
