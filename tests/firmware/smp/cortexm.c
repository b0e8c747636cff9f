/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second core of the AN521 (Arm SSE-200 manual: INITSVTOR1, CPUWAIT). */
#include "cortexm.h"
#include "smp.h"

#define SYSCTL_INITSVTOR1 REG32(0x50021114u)
#define SYSCTL_CPUWAIT REG32(0x50021118u)

typedef void handler(void);

static uint32_t second_stack[512] __attribute__((aligned(8)));

static void second_reset(void)
{
    second_main();
}

static void second_fault(void)
{
    for (;;) {
    }
}

__attribute__((aligned(512))) static handler *const second_vectors[16] = {
    (handler *)&second_stack[512],
    second_reset,
    second_fault,
    second_fault,
};

void smp_start_second(void)
{
    SYSCTL_INITSVTOR1 = (uint32_t)second_vectors;
    SYSCTL_CPUWAIT = 0;
}
