/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters that a program keeps about itself, and their report. */
#include "gx.h"

volatile struct gx_counters gx_counters;

void gx_report(const char *program)
{
    gx_puts("gx ");
    gx_puts(program);
    gx_puts(" ");
    gx_puts(gx_board_name);
    gx_puts("\n");
    gx_put_counter("magic", gx_counters.magic);
    gx_put_counter("iterations", gx_counters.iterations);
    gx_put_counter("interrupts", gx_counters.interrupts);
    gx_put_counter("pendsv", gx_counters.pendsv);
    gx_put_counter("svcs", gx_counters.svcs);
    gx_put_counter("faults", gx_counters.faults);
    gx_put_counter("recursive", gx_counters.recursive);
    gx_put_counter("indirect", gx_counters.indirect);
    gx_put_counter("tail", gx_counters.tail);
    gx_put_counter("states", gx_counters.states);
    gx_put_counter("checksum", gx_counters.checksum);
    gx_counters.done = 1;
    gx_put_counter("done", gx_counters.done);
}
