/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks left in the middle on x86-64: an interrupt from the local APIC to itself, and loads
 * that cross from a mapped page into one that is not, one of them a repeated string move.
 */
#include "x86.h"
#include "gx.h"
#include "midblock.h"

/* Two pages of which the second comes and goes. */
#define PAGES 0x04000000u
#define BORDER (PAGES + 0x1000u)

static volatile uint64_t level1[512] __attribute__((aligned(4096)));
static uint8_t copy[16];

static void second_page(int mapped)
{
    level1[1] = mapped ? BORDER | 3 : 0;
    __asm__ volatile("invlpg (%0)" ::"r"((uintptr_t)BORDER) : "memory");
}

void x86_page_fault(struct x86_frame *frame, uint64_t address)
{
    if (address < BORDER - 16 || address > BORDER) {
        gx_puts("fault at another address\n");
        gx_exit(3);
    }
    switch (midblock_recovery) {
    case RECOVER_SKIP:
        frame->rip = frame->r11; /* the place behind the instruction */
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
    level1[0] = PAGES | 3;
    level1[1] = BORDER | 3;
    page_level2[PAGES >> 21] = (uintptr_t)level1 | 3;
    __asm__ volatile("movq %%cr3, %%rax\n\tmovq %%rax, %%cr3" ::: "rax", "memory");
    for (uint32_t i = 0; i < 16; i += 4) {
        REG32(BORDER - 8 + i) = 0x1234567 * (i + 1);
    }
}

GX_NOINLINE uint32_t midblock_interrupt(uint32_t seed)
{
    uint64_t value = seed;

    __asm__ volatile("addq $3, %0\n\t"
                     "movl %1, (%2)\n\t"
                     "addq $5, %0\n\t"
                     "leaq (%0, %0, 2), %0\n\t"
                     "movl %1, (%2)\n\t"
                     "movl %1, (%2)\n\t"
                     "addq $7, %0"
                     : "+r"(value)
                     : "r"(1u << 18 | VECTOR_SOFTWARE), "r"((uint64_t)0xfee00300)
                     : "cc", "memory");
    return (uint32_t)value;
}

GX_NOINLINE uint32_t midblock_device_read(uint32_t seed)
{
    uint64_t value = seed;
    uint32_t unused;

    __asm__ volatile("addq $3, %0\n\t"
                     "movl (%2), %1\n\t"
                     "addq $5, %0\n\t"
                     "movl (%2), %1\n\t"
                     "movl (%2), %1\n\t"
                     "leaq (%0, %0, 2), %0"
                     : "+r"(value), "=&r"(unused)
                     : "r"((uint64_t)0xfee000f0)
                     : "cc", "memory");
    return (uint32_t)value;
}

GX_NOINLINE uint32_t midblock_fault(uint32_t seed)
{
    uint64_t value = seed;
    uint64_t loaded = 77;

    second_page(0);
    __asm__ volatile("leaq 1f(%%rip), %%r11\n\t"
                     "addq $3, %0\n\t"
                     "leaq (%0, %0, 4), %0\n\t"
                     "movq (%2), %1\n\t"
                     "1: addq %1, %0\n\t"
                     "addq $9, %0"
                     : "+r"(value), "+r"(loaded)
                     : "r"((uint64_t)BORDER - 4)
                     : "r11", "cc", "memory");
    return (uint32_t)value;
}

GX_NOINLINE uint32_t midblock_multiple(uint32_t seed)
{
    second_page(0); /* before the register variables: a call may change them */

    uint64_t value = seed;
    register uint64_t from __asm__("rsi") = BORDER - 8;
    register uint64_t to __asm__("rdi") = (uintptr_t)copy;
    register uint64_t count __asm__("rcx") = sizeof(copy);

    __asm__ volatile("leaq 1f(%%rip), %%r11\n\t"
                     "addq $3, %0\n\t"
                     "rep movsb\n\t"
                     "1: addq %3, %0\n\t"
                     "addq $9, %0"
                     : "+r"(value), "+r"(from), "+r"(to), "+r"(count)
                     :
                     : "r11", "cc", "memory");
    return (uint32_t)value + copy[9];
}
