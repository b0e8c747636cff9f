/*
 * Opcodes of stack-switching code. See stackcode.h. Encodings: the manuals named in gdbext/replay/branches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "stackcode.h"

#include <string.h>

/* Registers that a function may change and need not save: stored together, they are a trap's. */
#define RISCV_TEMPORARIES 0xF00000E0u /* t0 to t6 */
#define A64_TEMPORARIES   0x0003FE00u /* x9 to x17 */
#define TRAP_TEMPORARIES  3
#define CALLEE_SAVED      0x0FF0u /* T32: r4 to r11 */

bool insn_loads_sp(Arch arch, const uint8_t *bytes, size_t size)
{
    uint16_t h[2] = {0, 0};
    uint32_t word = 0;
    unsigned source;

    memcpy(h, bytes, size < sizeof(h) ? size : sizeof(h));
    memcpy(&word, bytes, size < sizeof(word) ? size : sizeof(word));
    switch (arch) {
    case ARCH_T32: /* mov sp, rN; ldr.w sp */
        source = h[0] >> 3 & 15;
        return size == 2 ? (h[0] & 0xFF87) == 0x4685 && source != 7 && source != 13
                         : (h[0] & 0xFF70) == 0xF850 && h[1] >> 12 == 13;
    case ARCH_AARCH64: /* mov sp, xN */
        source = word >> 5 & 31;
        return (word & 0xFFFFFC1F) == 0x9100001F && source != 29 && source != 31;
    case ARCH_RISCV: /* mv sp; lw, ld sp; the same compressed */
        if (size == 2) {
            source = word >> 2 & 31;
            return (word & 0xFF83) == 0x8102 ? source && source != 2 && source != 8
                                             : (word & 0xEF83) == 0x4102 || (word & 0xEF83) == 0x6102;
        }
        source = word >> 15 & 31;
        return ((word & 0xFFF07FFF) == 0x00000113 && source != 2 && source != 8) || (word & 0xFFF) == 0x103;
    default:
        return false;
    }
}

/* --- accesses relative to the stack pointer ---------------------------------------------------------------------------- */

typedef struct StackOp {
    enum { OP_OTHER, OP_STORE, OP_LOAD, OP_MOVE } kind;
    int32_t offset;     /* of a store or load: its lowest address, from the stack pointer before it */
    int32_t step;       /* how far it moves the stack pointer */
    uint32_t registers; /* that it stores */
} StackOp;

static int32_t sign_extended(uint32_t value, unsigned bits) { return (int32_t)(value << (32 - bits)) >> (32 - bits); }

/* Bits `high` to `low` of a word, moved to `to`. */
static uint32_t field(uint32_t word, unsigned high, unsigned low, unsigned to)
{
    return (word >> low & ((1u << (high - low + 1)) - 1)) << to;
}

static StackOp t32_op(const uint16_t *h, size_t size)
{
    const int32_t bytes = 4 * __builtin_popcount(size == 2 ? h[0] & 0x1FFu : h[1]);

    if (size == 2) {
        switch (h[0] & 0xFF80) {
        case 0xB000: /* add sp, sub sp */
            return (StackOp){OP_MOVE, 0, 4 * (h[0] & 0x7F), 0};
        case 0xB080:
            return (StackOp){OP_MOVE, 0, -4 * (h[0] & 0x7F), 0};
        default:
            break;
        }
        if ((h[0] & 0xFE00) == 0xB400) { /* push, pop */
            return (StackOp){OP_STORE, -bytes, -bytes, 0};
        }
        return (StackOp){(h[0] & 0xFE00) == 0xBC00 ? OP_LOAD : OP_OTHER, 0, bytes, 0};
    }
    if (h[0] == 0xE92D) { /* stmdb sp!, ldmia sp! */
        return (StackOp){OP_STORE, -bytes, -bytes, 0};
    }
    return (StackOp){h[0] == 0xE8BD ? OP_LOAD : OP_OTHER, 0, bytes, 0};
}

static StackOp a64_op(uint32_t word)
{
    const bool load = word & 1u << 22;
    const uint32_t registers = 1u << (word & 31) | 1u << (word >> 10 & 31);
    const int32_t pair = 8 * sign_extended(word >> 15 & 0x7F, 7);
    const int32_t immediate = (int32_t)(word >> 10 & 0xFFF) << (word >> 22 & 1 ? 12 : 0);

    if ((word & 0xFF8003FF) == 0x910003FF || (word & 0xFF8003FF) == 0xD10003FF) { /* add sp, sub sp */
        return (StackOp){OP_MOVE, 0, word >> 30 & 1 ? -immediate : immediate, 0};
    }
    if ((word >> 5 & 31) != 31) {
        return (StackOp){OP_OTHER, 0, 0, 0};
    }
    switch (word >> 23) {
    case 0x151: /* stp, ldp of X registers: post-index, offset, pre-index */
        return (StackOp){load ? OP_LOAD : OP_STORE, 0, pair, registers};
    case 0x152:
        return (StackOp){load ? OP_LOAD : OP_STORE, pair, 0, registers};
    case 0x153:
        return (StackOp){load ? OP_LOAD : OP_STORE, pair, pair, registers};
    case 0x1F2: /* str, ldr of an X register: unsigned offset */
        return (StackOp){load ? OP_LOAD : OP_STORE, 8 * (int32_t)(word >> 10 & 0xFFF), 0, 1u << (word & 31)};
    default:
        return (StackOp){OP_OTHER, 0, 0, 0};
    }
}

static StackOp rvc_op(uint32_t word)
{
    switch (word & 0xE003) {
    case 0x0001: /* c.addi */
        return (StackOp){(word & 0xF80) == 0x100 ? OP_MOVE : OP_OTHER, 0,
                         sign_extended(field(word, 12, 12, 5) | field(word, 6, 2, 0), 6), 0};
    case 0x6001: /* c.addi16sp */
        return (StackOp){(word & 0xF80) == 0x100 ? OP_MOVE : OP_OTHER, 0,
                         sign_extended(field(word, 12, 12, 9) | field(word, 6, 6, 4) | field(word, 5, 5, 6) |
                                           field(word, 4, 3, 7) | field(word, 2, 2, 5),
                                       10),
                         0};
    case 0x4002: /* c.lwsp */
        return (StackOp){OP_LOAD, (int32_t)(field(word, 12, 12, 5) | field(word, 6, 4, 2) | field(word, 3, 2, 6)), 0,
                         0};
    case 0x6002: /* c.ldsp; of RV32 c.flwsp, with which no such routine begins */
        return (StackOp){OP_LOAD, (int32_t)(field(word, 12, 12, 5) | field(word, 6, 5, 3) | field(word, 4, 2, 6)), 0,
                         0};
    case 0xC002: /* c.swsp */
        return (StackOp){OP_STORE, (int32_t)(field(word, 12, 9, 2) | field(word, 8, 7, 6)), 0, 1u << (word >> 2 & 31)};
    case 0xE002: /* c.sdsp */
        return (StackOp){OP_STORE, (int32_t)(field(word, 12, 10, 3) | field(word, 9, 7, 6)), 0, 1u << (word >> 2 & 31)};
    default:
        return (StackOp){OP_OTHER, 0, 0, 0};
    }
}

static StackOp riscv_op(uint32_t word)
{
    const int32_t immediate = sign_extended(word >> 20, 12);

    if ((word >> 15 & 31) != 2) {
        return (StackOp){OP_OTHER, 0, 0, 0};
    }
    switch (word & 0x707F) {
    case 0x0013: /* addi sp, sp */
        return (StackOp){(word & 0xF80) == 0x100 ? OP_MOVE : OP_OTHER, 0, immediate, 0};
    case 0x2003: /* lw, ld */
    case 0x3003:
        return (StackOp){OP_LOAD, immediate, 0, 0};
    case 0x2023: /* sw, sd */
    case 0x3023:
        return (StackOp){OP_STORE, sign_extended(field(word, 31, 25, 5) | field(word, 11, 7, 0), 12), 0,
                         1u << (word >> 20 & 31)};
    default:
        return (StackOp){OP_OTHER, 0, 0, 0};
    }
}

static StackOp stack_op(Arch arch, const uint8_t *bytes, size_t size)
{
    uint16_t h[2] = {0, 0};
    uint32_t word = 0;

    memcpy(h, bytes, size < sizeof(h) ? size : sizeof(h));
    memcpy(&word, bytes, size < sizeof(word) ? size : sizeof(word));
    switch (arch) {
    case ARCH_T32:
        return t32_op(h, size);
    case ARCH_AARCH64:
        return a64_op(word);
    case ARCH_RISCV:
        return size == 2 ? rvc_op(word) : riscv_op(word);
    default:
        return (StackOp){OP_OTHER, 0, 0, 0};
    }
}

/* --- accesses through the register that holds PSP ----------------------------------------------------------------------- */

/*
 * Cortex-M. Saved: stm through the register that PSP was read to; or, since an isb ends a block, one of r4 to r11 as none
 * but such routines have. Restored: ldm through the register that PSP is loaded from, or that loads this register.
 */
static void find_psp(const BlockSource *block, StackAccess *save, StackAccess *restore)
{
    const uint8_t *at = block->bytes;
    unsigned read_to = 16; /* none */
    StackAccess loads[16]; /* by register: the first ldm through it or to it */

    for (unsigned i = 0; i < 16; i++) {
        loads[i] = (StackAccess){-1, 0};
    }
    for (unsigned i = 0; i < block->n_insns; at += block->sizes[i++]) {
        uint16_t h[2] = {0, 0};
        unsigned base, list;
        bool store, write_back, down = false;

        memcpy(h, at, block->sizes[i] < sizeof(h) ? block->sizes[i] : sizeof(h));
        if (block->sizes[i] == 2) { /* stmia, ldmia */
            if (h[0] >> 12 != 0xC) {
                continue;
            }
            base = h[0] >> 8 & 7;
            list = h[0] & 0xFF;
            store = !(h[0] & 0x800);
            write_back = true;
        } else if (h[0] == 0xF3EF && (h[1] & 0xF07F) == 0x8009) { /* mrs, psp */
            read_to = h[1] >> 8 & 15;
            continue;
        } else if ((h[0] & 0xFFF0) == 0xF380 && (h[1] & 0xFF7F) == 0x8809) { /* msr psp */
            *restore = loads[h[0] & 15];
            continue;
        } else if ((h[0] & 0xFFC0) == 0xE880 || (h[0] & 0xFFC0) == 0xE900) {
            base = h[0] & 15;
            list = h[1];
            store = !(h[0] & 0x10);
            write_back = h[0] & 0x20;
            down = h[0] & 0x100;
        } else {
            continue;
        }
        if (base == 13) {
            continue;
        }
        if (store) {
            if (save->insn < 0 && (base == read_to || ((list & CALLEE_SAVED) == CALLEE_SAVED && write_back == down))) {
                *save = (StackAccess){(int)i, 0};
            }
        } else {
            for (unsigned n = 0; n < 16; n++) {
                if ((n == base || list >> n & 1) && loads[n].insn < 0) {
                    loads[n] = (StackAccess){(int)i, 0};
                }
            }
        }
    }
}

/* --- a block -------------------------------------------------------------------------------------------------------------- */

void stackcode_find(Arch arch, const BlockSource *block, StackAccess *save, StackAccess *restore)
{
    const Arch isa = arch == ARCH_ARM ? ARCH_T32 : arch; /* undecided: only words, which A32 does not have */
    const uint32_t temporaries = isa == ARCH_RISCV ? RISCV_TEMPORARIES : isa == ARCH_AARCH64 ? A64_TEMPORARIES : 0;
    const uint8_t *at = block->bytes;
    uint32_t stored = 0;
    int32_t moved = 0; /* since the stack pointer was loaded */
    bool loaded = false;

    *save = *restore = (StackAccess){-1, 0};
    if (isa == ARCH_T32) {
        find_psp(block, save, restore);
        if (save->insn >= 0 || restore->insn >= 0) {
            return;
        }
    }
    for (unsigned i = 0; i < block->n_insns; at += block->sizes[i++]) {
        const StackOp op = stack_op(isa, at, block->sizes[i]);

        if (insn_loads_sp(isa, at, block->sizes[i])) {
            *restore = (StackAccess){-1, 0};
            loaded = true;
            moved = 0;
        } else if (op.kind == OP_OTHER) {
            continue;
        } else if (loaded) {
            if (op.kind == OP_LOAD && restore->insn < 0) {
                *restore = (StackAccess){(int)i, moved + op.offset};
            }
            moved += op.step;
        } else if (op.kind == OP_STORE) {
            *save = (StackAccess){(int)i, op.offset - op.step};
            stored |= op.registers;
        } else {
            save->offset -= op.step;
        }
    }
    if (!loaded && __builtin_popcount(stored & temporaries) < TRAP_TEMPORARIES) {
        save->insn = -1;
    }
}
