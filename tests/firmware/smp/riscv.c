/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second hart of the virt board waits in startup.S for an address to call. */
#include "riscv.h"
#include "smp.h"

extern void (*volatile second_entry)(void);

void smp_start_second(void)
{
    second_entry = second_main;
}
