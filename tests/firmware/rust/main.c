/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls Rust, after allowing SSE, which its precompiled `core` may use. */
#include "gx.h"

uint32_t rust_work(uint32_t round);

void gx_timer_tick(void)
{
}

int main(void)
{
    uint64_t bits;
    uint32_t value = 0;

    __asm__ volatile("mov %%cr0, %0\n\tand $~4, %0\n\tor $2, %0\n\tmov %0, %%cr0" : "=&r"(bits));
    __asm__ volatile("mov %%cr4, %0\n\tor $0x600, %0\n\tmov %0, %%cr4" : "=&r"(bits));
    gx_counters.magic = GX_MAGIC;
    for (uint32_t round = 0; round < 40; round++) {
        value ^= rust_work(round);
        gx_counters.iterations++;
    }
    gx_counters.checksum = value;
    gx_report("rust");
    return 0;
}
