/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several names for one address, and a weak function that another file overrides. */
#include "features.h"

uint32_t alias_real(uint32_t value)
{
    return value + 17;
}

uint32_t alias_weak(uint32_t value) __attribute__((weak, alias("alias_real")));
uint32_t alias_strong(uint32_t value) __attribute__((alias("alias_real")));

/* Another name for a static function: as a linker that folds equal functions leaves it. */
static uint32_t __attribute__((noinline, used)) folded_first(uint32_t value)
{
    return value ^ 0x55;
}

uint32_t folded_second(uint32_t value) __attribute__((alias("folded_first")));

__attribute__((weak)) uint32_t overridden(uint32_t value)
{
    return folded_second(value) - 1;
}
