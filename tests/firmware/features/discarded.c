/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiled with -ffunction-sections: the linker drops what nobody calls, the line table keeps it. */
#include "features.h"

uint32_t discarded(uint32_t value)
{
    for (int i = 0; i < 10; i++) {
        value = value * 5 + 1;
    }
    return value;
}

uint32_t kept(uint32_t value)
{
    return value * 7 + 2;
}

uint32_t discarded_as_well(uint32_t value)
{
    if (value > 100) {
        return discarded(value);
    }
    return value;
}
