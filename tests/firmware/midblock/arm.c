/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks left in the middle on A32, with the MMU on (the board has no bus faults): an interrupt
 * from the GIC, and loads that cross from a mapped page into one that is not.
 */
#include "arm.h"
#include "gx.h"
#include "midblock.h"

/* Two pages of which the second comes and goes. */
#define PAGES 0x64000000u
#define BORDER (PAGES + 0x1000u)

/* Short descriptors (Armv7-A ARM, B3.5): full access; normal memory, or device. */
#define SECTION_NORMAL 0x140eu
#define SECTION_DEVICE 0x0c06u
#define SMALL_PAGE_NORMAL 0x007eu

static uint32_t level1[4096] __attribute__((aligned(16384)));
static volatile uint32_t level2[256] __attribute__((aligned(1024)));

static void second_page(int mapped)
{
    level2[1] = mapped ? BORDER | SMALL_PAGE_NORMAL : 0;
    __asm__ volatile("dsb\n\tmcr p15, 0, %0, c8, c7, 0\n\tdsb\n\tisb" ::"r"(0) : "memory");
}

void arm_data_abort(struct arm_frame *frame)
{
    gx_counters.faults++;
    switch (midblock_recovery) {
    case RECOVER_SKIP:
        frame->pc += 4;
        break;
    case RECOVER_RESTART:
        second_page(1);
        break;
    case RECOVER_NOT:
        midblock_give_up();
    }
}

void midblock_setup(void)
{
    for (uint32_t i = 0; i < 4096; i++) {
        level1[i] = i << 20 | (i >= 0x600 && i < 0x680 ? SECTION_NORMAL : SECTION_DEVICE);
    }
    level1[PAGES >> 20] = (uint32_t)level2 | 1;
    level2[0] = PAGES | SMALL_PAGE_NORMAL;
    level2[1] = BORDER | SMALL_PAGE_NORMAL;
    __asm__ volatile("mcr p15, 0, %0, c3, c0, 0\n\t" /* DACR: no checks */
                     "mcr p15, 0, %1, c2, c0, 2\n\t" /* TTBCR: TTBR0 only */
                     "mcr p15, 0, %2, c2, c0, 0\n\t" /* TTBR0 */
                     "isb\n\t"
                     "mrc p15, 0, r3, c1, c0, 0\n\t"
                     "orr r3, r3, #1\n\t"
                     "mcr p15, 0, r3, c1, c0, 0\n\t" /* SCTLR.M */
                     "isb" ::"r"(0xffffffffu),
                     "r"(0), "r"((uint32_t)level1)
                     : "r3", "memory");
    REG32(BORDER - 4) = 0x1234567;
    REG32(BORDER) = 0x89abcde;
}

GX_NOINLINE uint32_t midblock_interrupt(uint32_t seed)
{
    register uint32_t value __asm__("r0") = seed;
    register uint32_t software __asm__("r1") = 2u << 24 | IRQ_SOFTWARE;
    register uint32_t sgir __asm__("r3") = 0x1e001f00u;

    __asm__ volatile("add r0, r0, #3\n\t"
                     "str r1, [r3]\n\t"
                     "add r0, r0, #5\n\t"
                     "lsl r2, r0, #1\n\t"
                     "add r0, r0, r2\n\t"
                     "str r1, [r3]\n\t"
                     "tst r0, #1\n\t"
                     "streq r1, [r3]\n\t"
                     "strne r1, [r3]\n\t"
                     "add r0, r0, #7"
                     : "+r"(value)
                     : "r"(software), "r"(sgir)
                     : "r2", "cc", "memory");
    return value;
}

GX_NOINLINE uint32_t midblock_device_read(uint32_t seed)
{
    register uint32_t value __asm__("r0") = seed;
    register uint32_t counter __asm__("r3") = 0x1e000604u;

    __asm__ volatile("add r0, r0, #3\n\t"
                     "ldr r2, [r3]\n\t"
                     "add r0, r0, #5\n\t"
                     "ldr r2, [r3]\n\t"
                     "ldr r2, [r3]\n\t"
                     "lsl r2, r0, #1\n\t"
                     "add r0, r0, r2"
                     : "+r"(value)
                     : "r"(counter)
                     : "r2", "cc", "memory");
    return value;
}

GX_NOINLINE uint32_t midblock_fault(uint32_t seed)
{
    second_page(0); /* before the register variables: a call may change them */

    register uint32_t value __asm__("r0") = seed;
    register uint32_t loaded __asm__("r2") = 77;
    register uint32_t from __asm__("r3") = BORDER - 2;

    __asm__ volatile("add r0, r0, #3\n\t"
                     "lsl r1, r0, #2\n\t"
                     "ldr r2, [r3]\n\t"
                     "add r0, r0, r2\n\t"
                     "add r0, r0, r1"
                     : "+r"(value), "+r"(loaded), "+r"(from)
                     :
                     : "r1", "cc", "memory");
    return value;
}

GX_NOINLINE uint32_t midblock_multiple(uint32_t seed)
{
    second_page(0); /* before the register variables: a call may change them */

    register uint32_t value __asm__("r0") = seed;
    register uint32_t first __asm__("r1") = 78;
    register uint32_t second __asm__("r2") = 79;
    register uint32_t from __asm__("r3") = BORDER - 4;

    __asm__ volatile("add r0, r0, #3\n\t"
                     "ldmia r3!, {r1, r2}\n\t"
                     "add r0, r0, r1\n\t"
                     "add r0, r0, r2"
                     : "+r"(value), "+r"(first), "+r"(second), "+r"(from)
                     :
                     : "cc", "memory");
    return value;
}
