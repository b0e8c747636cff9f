/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What linkers do with code: fold functions that are equal into one (twins), copy code to RAM, and
 * optimise the whole program (a function of another file is inlined). Each path runs or does not,
 * which the counters tell.
 */
#include "linking.h"
#include "gx.h"

void gx_timer_tick(void)
{
}

int main(void)
{
    uint32_t value = 1;

    gx_counters.magic = GX_MAGIC;
    for (uint32_t i = 0; i < 20; i++) {
        value = twin_first(value);
        value = twin_third(value);
        value = from_ram(value);
        value = across(value + i);
        gx_counters.iterations++;
    }
    if (value == 0) {
        value = twin_second(value) + never_from_ram(value);
        gx_counters.indirect++;
    }
    gx_counters.checksum = value;
    gx_report("linking");
    return 0;
}
