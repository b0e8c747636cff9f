/*
 * Runs a random program on a board, under a fast timer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "random.h"
#include "gx.h"

void gx_timer_tick(void)
{
    gx_counters.interrupts++;
}

int main(void)
{
    board_timer_start(PERIOD_US);
    uint32_t total = random_program();
    board_timer_stop();
    gx_put_counter("total", total);
    gx_put_counter("interrupts", gx_counters.interrupts);
    return 0;
}
