/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that is copied to RAM, a twin in another file, and what an optimising linker inlines. */
#include "linking.h"
#include "gx.h"

#ifdef __arm__
#define RAM_CODE __attribute__((section(".ramcode"), noinline, long_call))
#else
#define RAM_CODE GX_NOINLINE
#endif

GX_NOINLINE uint32_t twin_third(uint32_t value)
{
    if (value & 1) {
        value += 0x1234;
    }
    return value ^ (value >> 3);
}

RAM_CODE uint32_t from_ram(uint32_t value)
{
#pragma GCC unroll 1
    for (uint32_t i = 0; i < 3; i++) {
        value = value * 5 + i;
        if (value == 7) {
            return 0;
        }
    }
    return value;
}

RAM_CODE uint32_t never_from_ram(uint32_t value)
{
    return value * 3;
}

uint32_t across(uint32_t value)
{
    if (value & 0x80) {
        return value - 3;
    }
    return value + 5;
}
