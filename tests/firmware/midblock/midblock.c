/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that are left in the middle: by a device access that raises an interrupt at once, and
 * by faults which the handler skips or repairs. With -DGX_FATAL the last fault is not recovered:
 * the handler itself ends the program.
 */
#include "midblock.h"
#include "gx.h"

#define ROUNDS 24

#ifdef GX_FATAL
#define PROGRAM "midblock-fatal"
#else
#define PROGRAM "midblock"
#endif

volatile enum recovery midblock_recovery;

void gx_timer_tick(void)
{
    gx_counters.interrupts++;
}

void midblock_give_up(void)
{
    gx_report(PROGRAM);
    gx_exit(0);
}

int main(void)
{
    uint32_t value = 1;

    gx_counters.magic = GX_MAGIC;
    midblock_setup();
    board_timer_start(20);
    for (int round = 0; round < ROUNDS; round++) {
        value = midblock_interrupt(value);
        value = midblock_device_read(value);
        midblock_recovery = round % 2 == 0 ? RECOVER_SKIP : RECOVER_RESTART;
        value = midblock_fault(value);
        value = midblock_multiple(value);
        gx_counters.checksum = value;
        gx_counters.iterations++;
    }
    board_timer_stop();
#ifdef GX_FATAL
    midblock_recovery = RECOVER_NOT;
    gx_counters.checksum = midblock_fault(value);
    gx_puts("the fault was recovered\n");
    return 4;
#else
    gx_report(PROGRAM);
    return 0;
#endif
}
