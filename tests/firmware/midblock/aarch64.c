/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks left in the middle on AArch64, with the MMU on: an interrupt from the GIC, and loads
 * that cross from a mapped page into one that is not.
 */
#include "aarch64.h"
#include "gx.h"
#include "midblock.h"

/* Two pages of which the second comes and goes. */
#define PAGES 0x44000000u
#define BORDER (PAGES + 0x1000u)

#define BLOCK 1u
#define TABLE 3u
#define PAGE 3u
#define DEVICE (0u << 2)
#define NORMAL (1u << 2)
#define INNER_SHAREABLE (3u << 8)
#define ACCESSED (1u << 10)

static uint64_t level1[512] __attribute__((aligned(4096)));
static uint64_t level2[512] __attribute__((aligned(4096)));
static volatile uint64_t level3[512] __attribute__((aligned(4096)));

static void second_page(int mapped)
{
    level3[1] = mapped ? BORDER | PAGE | NORMAL | INNER_SHAREABLE | ACCESSED : 0;
    __asm__ volatile("dsb ish\n\ttlbi vmalle1\n\tdsb ish\n\tisb" ::: "memory");
}

void aarch64_data_abort(struct aarch64_frame *frame, uint64_t address)
{
    if (address < BORDER - 16 || address > BORDER) {
        gx_puts("fault at another address\n");
        gx_exit(3);
    }
    switch (midblock_recovery) {
    case RECOVER_SKIP:
        frame->elr += 4;
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
    level1[0] = BLOCK | DEVICE | ACCESSED;
    level1[1] = (uintptr_t)level2 | TABLE;
    for (uint64_t i = 0; i < 64; i++) {
        level2[i] = (0x40000000 + (i << 21)) | BLOCK | NORMAL | INNER_SHAREABLE | ACCESSED;
    }
    level2[(PAGES - 0x40000000) >> 21] = (uintptr_t)level3 | TABLE;
    level3[0] = PAGES | PAGE | NORMAL | INNER_SHAREABLE | ACCESSED;
    level3[1] = BORDER | PAGE | NORMAL | INNER_SHAREABLE | ACCESSED;
    WRITE_SYSTEM(mair_el1, 0xff00);                         /* 0: device, 1: normal memory */
    WRITE_SYSTEM(tcr_el1, 25 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23); /* 39 bits, TTBR0 only */
    WRITE_SYSTEM(ttbr0_el1, (uintptr_t)level1);
    WRITE_SYSTEM(sctlr_el1, READ_SYSTEM(sctlr_el1) | 1);
    *(volatile uint32_t *)(uintptr_t)(BORDER - 4) = 0x1234567;
    *(volatile uint32_t *)(uintptr_t)BORDER = 0x89abcde;
}

GX_NOINLINE uint32_t midblock_interrupt(uint32_t seed)
{
    uint64_t value = seed;

    __asm__ volatile("add %0, %0, #3\n\t"
                     "str %w1, [%2]\n\t"
                     "add %0, %0, #5\n\t"
                     "add %0, %0, %0, lsl #1\n\t"
                     "str %w1, [%2]\n\t"
                     "str %w1, [%2]\n\t"
                     "add %0, %0, #7"
                     : "+r"(value)
                     : "r"(2u << 24 | IRQ_SOFTWARE), "r"((uint64_t)0x08000f00)
                     : "memory");
    return (uint32_t)value;
}

GX_NOINLINE uint32_t midblock_device_read(uint32_t seed)
{
    uint64_t value = seed;
    uint64_t unused;

    __asm__ volatile("add %0, %0, #3\n\t"
                     "ldr %w1, [%2]\n\t"
                     "add %0, %0, #5\n\t"
                     "ldr %w1, [%2]\n\t"
                     "ldr %w1, [%2]\n\t"
                     "add %0, %0, %0, lsl #1"
                     : "+r"(value), "=&r"(unused)
                     : "r"((uint64_t)0x08000004)
                     : "memory");
    return (uint32_t)value;
}

GX_NOINLINE uint32_t midblock_fault(uint32_t seed)
{
    uint64_t value = seed;
    uint64_t loaded = 77;

    second_page(0);
    __asm__ volatile("add %0, %0, #3\n\t"
                     "add %0, %0, %0, lsl #2\n\t"
                     "ldr %1, [%2]\n\t"
                     "add %0, %0, %1\n\t"
                     "add %0, %0, %1, lsr #32"
                     : "+r"(value), "+r"(loaded)
                     : "r"((uint64_t)BORDER - 4)
                     : "memory");
    return (uint32_t)value;
}

GX_NOINLINE uint32_t midblock_multiple(uint32_t seed)
{
    uint64_t value = seed;
    uint64_t first = 78;
    uint64_t second = 79;

    second_page(0);
    __asm__ volatile("add %0, %0, #3\n\t"
                     "ldp %1, %2, [%3]\n\t"
                     "add %0, %0, %1\n\t"
                     "add %0, %0, %2"
                     : "+r"(value), "+r"(first), "+r"(second)
                     : "r"((uint64_t)BORDER - 8)
                     : "memory");
    return (uint32_t)value;
}
