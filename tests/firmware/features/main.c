/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls every function of the symbol test program, through a pointer where it has two names. */
#include "features.h"
#include "gx.h"

void gx_timer_tick(void)
{
}

/* Stronger than the weak one in aliases.c. */
uint32_t overridden(uint32_t value)
{
    return value + 4;
}

int main(void)
{
    static uint32_t (*const volatile functions[])(uint32_t) = {
        dwarf2_work,         dwarf3_work,         dwarf4_work,           dwarf5_work,
        alias_real,          alias_weak,          alias_strong,          overridden,
        assembler_plain,     assembler_sized,     assembler_two_doors,   assembler_second_door,
        assembler_literal,   kept,                shapes,                without_debug,
        folded_second,
    };
    uint32_t value = 1;

    gx_counters.magic = GX_MAGIC;
    for (uint32_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        value = functions[i](value);
        gx_counters.indirect++;
    }
    gx_counters.iterations = 1;
    gx_counters.checksum = value;
    gx_report("features");
    return 0;
}
