/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output and exit by Arm semihosting: SYS_WRITE0 and SYS_EXIT_EXTENDED. */
#include "gx.h"

static uintptr_t semihosting(uintptr_t operation, uintptr_t argument)
{
    register uintptr_t r0 __asm__("r0") = operation;
    register uintptr_t r1 __asm__("r1") = argument;

    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void gx_write(const char *text)
{
    semihosting(0x04, (uintptr_t)text);
}

void gx_exit(int status)
{
    const uintptr_t block[2] = { 0x20026, (uintptr_t)status };

    for (;;) {
        semihosting(0x20, (uintptr_t)block);
    }
}
