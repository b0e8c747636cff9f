/*
 * Decisions whose branches cannot be told to be their conditions, marked UNPROVEN; and some that look like it and can.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gx.h"

#define ENABLED 1
#define BOTH(a, b) ((a) && (b))
#define LIMIT 5

static volatile uint32_t input, sink;
static volatile uint64_t wide = 0x100000001ull, wider = 0x100000001ull;

enum { ON = 1 };

GX_NOINLINE static int is(uint32_t x)
{
    sink = sink + 1;
    return x == 1;
}

static inline __attribute__((always_inline)) int copied(uint32_t a, uint32_t b)
{
    if (a && b) { /* UNPROVEN */
        return 1;
    }
    return 0;
}

GX_NOINLINE static int copies(uint32_t a, uint32_t b)
{
    return copied(a, b) + copied(b, a);
}

/* Two branches, but both are the first condition's; the second has none. The graph is that of `a && b`. */
GX_NOINLINE static int macro_and_constant(uint32_t a, uint32_t b)
{
    while (BOTH(a, b) && ENABLED) { /* UNPROVEN */
        a--;
    }
    if (BOTH(a, b) && ENABLED) { /* UNPROVEN */
        return 1;
    }
    return ENABLED && BOTH(is(a), b); /* UNPROVEN */
}

GX_NOINLINE static int wide_and_constant(uint32_t a)
{
    int n = 0;

    while (wide == wider && ON) { /* UNPROVEN */
        n++;
        wide = wide + 1;
    }
    if (wide == wider && sizeof(a) == 4) { /* UNPROVEN */
        n++;
    }
    return n;
}

GX_NOINLINE static int joined(uint32_t a, uint32_t b)
{
    if (a == 1 || a == 2) { /* UNPROVEN -Og */
        b++;
    }
    if ((a & 1) && (a & 2)) { /* UNPROVEN -Og */
        b++;
    }
    return (int)b;
}

GX_NOINLINE static int nested(uint32_t a, uint32_t b)
{
    if (is(a && b) || a) { /* UNPROVEN */
        return 1;
    }
    if ((a ? b : input) && b) { /* UNPROVEN */
        return 2;
    }
    if (({ uint32_t t = a; t + 1; }) && b) { /* UNPROVEN */
        return 3;
    }
    sink = a ? 3 : 4; /* UNPROVEN */
    return 0;
}

GX_NOINLINE static int no_decision(uint32_t a)
{
    uint32_t n = 0;

    switch (a) {
    case 1:
    case 3:
        n++;
        break;
    default:
        break;
    }
    return (int)n;
}

GX_NOINLINE static int nothing_behind(uint32_t a, uint32_t b)
{
    while (is(a) && is(b)) {
        break; /* both ways lead to the same place */
    }
    if (a && b) {
    }
    return 0;
}

/* These can be told. */
GX_NOINLINE static int plain(uint32_t a, uint32_t b)
{
    uint32_t n = 0;

    while (n < LIMIT && (a || b)) {
        n++;
        a = 0;
    }
    for (; !(n == 0 || is(b)) && n; n--) {
    }
    do {
        n++;
    } while (n < 3 && a);
    while (is(a) || n++ < 2)
        ;
    return a == 1 && !b;
}

void gx_timer_tick(void)
{
}

int main(void)
{
    gx_counters.magic = GX_MAGIC;
    for (uint32_t i = 0; i < 16; i++) {
        input = i;
        sink = sink + (uint32_t)(copies(i & 1, i & 2) + macro_and_constant(i & 1, i & 2) + wide_and_constant(i) +
                                 joined(i & 3, i) + nested(i & 1, i & 2) + no_decision(i & 7) +
                                 nothing_behind(i & 1, i >> 1 & 1) + plain(i & 1, i >> 1 & 1));
    }
    gx_counters.done = 1;
    gx_report("decisions");
    return 0;
}
