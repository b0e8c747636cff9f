/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that compile to the same bytes: a linker that folds them leaves one. */
#include "linking.h"
#include "gx.h"

GX_NOINLINE uint32_t twin_first(uint32_t value)
{
    if (value & 1) {
        value += 0x1234;
    }
    return value ^ (value >> 3);
}

GX_NOINLINE uint32_t twin_second(uint32_t value)
{
    if (value & 1) {
        value += 0x1234;
    }
    return value ^ (value >> 3);
}
