/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * More than a call tree holds: a recursion deeper than any stack of calls is kept, and a pair of functions that call each
 * other in every order, each order a path of its own. -DDEEP= and -DPATHS= (how deep the pair goes) set how much.
 */
#include "gx.h"

#define KEPT __attribute__((noipa))

#ifndef DEEP
#define DEEP 300000
#endif
#ifndef PATHS
#define PATHS 20
#endif

static uint32_t deep_calls, left_calls, right_calls;

static uint32_t left(uint32_t n);

KEPT static uint32_t deep(uint32_t n)
{
    deep_calls++;
    return n == 0 ? 0 : deep(n - 1) + 1;
}

KEPT static uint32_t right(uint32_t n)
{
    right_calls++;
    return n == 0 ? 1 : left(n - 1) + right(n - 1);
}

KEPT static uint32_t left(uint32_t n)
{
    left_calls++;
    return n == 0 ? 1 : left(n - 1) + right(n - 1);
}

void gx_timer_tick(void)
{
}

int main(void)
{
    gx_counters.magic = GX_MAGIC;
    gx_counters.checksum = left(PATHS);
    gx_counters.checksum += deep(DEEP - 1);
    gx_report("limits");
    gx_put_counter("calls:left", left_calls);
    gx_put_counter("calls:right", right_calls);
    gx_put_counter("calls:deep", deep_calls);
    return 0;
}
