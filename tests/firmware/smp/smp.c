/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two cores count, each for itself; the first waits for the second and reports both. */
#include "smp.h"
#include "gx.h"

#define ROUNDS 2000

volatile uint32_t smp_counts[2];
static volatile uint32_t second_done;

void gx_timer_tick(void)
{
}

GX_NOINLINE static uint32_t work(uint32_t core, uint32_t value)
{
    smp_counts[core]++;
    return value * 1664525u + core;
}

GX_NOINLINE static uint32_t work_all(uint32_t core)
{
    uint32_t value = core;

    for (int i = 0; i < ROUNDS; i++) {
        value = work(core, value);
    }
    return value;
}

void second_main(void)
{
    gx_counters.states = work_all(1);
    __asm__ volatile("" ::: "memory");
    second_done = 1;
    for (;;) {
        board_wait();
    }
}

int main(void)
{
    gx_counters.magic = GX_MAGIC;
    smp_start_second();
    gx_counters.checksum = work_all(0);
    while (!second_done) {
    }
    gx_counters.iterations = smp_counts[0] + smp_counts[1];
    gx_put_counter("core0", smp_counts[0]);
    gx_put_counter("core1", smp_counts[1]);
    gx_report("smp");
    return 0;
}
