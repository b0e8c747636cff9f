/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks left in the middle on RISC-V: the software interrupt, and load access faults. */
#include "riscv.h"
#include "gx.h"
#include "midblock.h"

/* The board has nothing there. */
#define NOWHERE 0x08000000u

static const uintptr_t somewhere[2] = { 0x1234567, 0x89abcde };

void riscv_access_fault(struct riscv_frame *frame)
{
    switch (midblock_recovery) {
    case RECOVER_SKIP:
        frame->pc += (*(const uint16_t *)frame->pc & 3) == 3 ? 4 : 2;
        break;
    case RECOVER_RESTART:
        frame->x[15 - 1] = (uintptr_t)somewhere; /* a5 */
        break;
    case RECOVER_NOT:
        midblock_give_up();
    }
}

void midblock_setup(void)
{
}

GX_NOINLINE uint32_t midblock_interrupt(uint32_t seed)
{
    register uintptr_t value __asm__("a0") = seed;
    register uintptr_t one __asm__("a4") = 1;
    register uintptr_t msip __asm__("a5") = 0x02000000u;

    __asm__ volatile("addi a0, a0, 3\n\t"
                     "sw a4, 0(a5)\n\t"
                     "addi a0, a0, 5\n\t"
                     "slli a3, a0, 1\n\t"
                     "add a0, a0, a3\n\t"
                     "sw a4, 0(a5)\n\t"
                     "sw a4, 0(a5)\n\t"
                     "addi a0, a0, 7"
                     : "+r"(value)
                     : "r"(one), "r"(msip)
                     : "a3", "memory");
    return (uint32_t)value;
}

GX_NOINLINE uint32_t midblock_device_read(uint32_t seed)
{
    register uintptr_t value __asm__("a0") = seed;
    register uintptr_t mtime __asm__("a5") = 0x0200bff8u;

    __asm__ volatile("addi a0, a0, 3\n\t"
                     "lw a3, 0(a5)\n\t"
                     "addi a0, a0, 5\n\t"
                     "lw a3, 0(a5)\n\t"
                     "lw a3, 4(a5)\n\t"
                     "slli a3, a0, 1\n\t"
                     "add a0, a0, a3"
                     : "+r"(value)
                     : "r"(mtime)
                     : "a3", "memory");
    return (uint32_t)value;
}

GX_NOINLINE uint32_t midblock_fault(uint32_t seed)
{
    register uintptr_t value __asm__("a0") = seed;
    register uintptr_t loaded __asm__("a4") = 77;
    register uintptr_t from __asm__("a5") = NOWHERE;

    __asm__ volatile("addi a0, a0, 3\n\t"
                     "slli a3, a0, 2\n\t"
                     "lw a4, 0(a5)\n\t"
                     "add a0, a0, a4\n\t"
                     "add a0, a0, a3"
                     : "+r"(value), "+r"(loaded), "+r"(from)
                     :
                     : "a3", "memory");
    return (uint32_t)value;
}

/* There is no load of several words: two loads, of which the second may fault as well. */
GX_NOINLINE uint32_t midblock_multiple(uint32_t seed)
{
    register uintptr_t value __asm__("a0") = seed;
    register uintptr_t first __asm__("a3") = 78;
    register uintptr_t second __asm__("a4") = 79;
    register uintptr_t from __asm__("a5") = NOWHERE;

    __asm__ volatile("addi a0, a0, 3\n\t"
                     ".option push\n\t"
                     ".option norvc\n\t"
                     "lw a3, 0(a5)\n\t"
                     "lw a4, 4(a5)\n\t"
                     ".option pop\n\t"
                     "add a0, a0, a3\n\t"
                     "add a0, a0, a4"
                     : "+r"(value), "+r"(first), "+r"(second), "+r"(from)
                     :
                     : "memory");
    return (uint32_t)value;
}
