/*
 * Every kind of statement that has paths, run with inputs that leave some of them out. Portable: the host's gcov tells the
 * truth about it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "paths.h"

volatile unsigned sink;

static int sign(int value)
{
    if (value < 0) {
        return -1;
    } else if (value > 0) {
        return 1;
    }
    return 0;
}

/* Both sides of some conditions only. */
static int within(int value, int low, int high)
{
    if (value >= low && value <= high)
        return 1;
    if (value == -99 || value == -98) {
        return 2;
    }
    return 0;
}

static const char *name_of(int colour)
{
    switch (colour) {
    case 0:
        return "red";
    case 1:
        return "green";
    case 2:
    case 3:
        sink++;
        break;
    default:
        return "none";
    }
    return "blue";
}

static unsigned sum_of_odd(unsigned end)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < end; i++) {
        if (i % 2 == 0) {
            continue;
        }
        if (i > 90) {
            break;
        }
        sum += i;
    }
    return sum;
}

static unsigned countdown(unsigned from)
{
    unsigned steps = 0;

    while (from > 1) {
        from = from % 2 ? 3 * from + 1 : from / 2;
        steps++;
    }
    do {
        steps++;
    } while (steps < 5);
    return steps;
}

static unsigned grid(unsigned width, unsigned height)
{
    unsigned cells = 0;

    for (unsigned y = 0; y < height; y++) {
        for (unsigned x = 0; x < width; x++) {
            if (x == y)
                cells += 2;
            else
                cells++;
        }
    }
    return cells;
}

static int search(const int *values, int count, int wanted)
{
    int at = 0;

    for (;;) {
        if (at == count) {
            goto missing;
        }
        if (values[at] == wanted) {
            break;
        }
        at++;
    }
    return at;
missing:
    return -1;
}

static unsigned factorial(unsigned n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

static int never(int value)
{
    if (value) {
        sink = 7;
    }
    return value + 1;
}

static inline int clamp(int value, int limit)
{
    if (value > limit)
        return limit;
    return value;
}

/* One line of source, many ways through it. */
static int crowded(int a, int b) { if (a) sink++; for (int i = 0; i < b; i++) sink += i; return a ? b : a; }

static int call(int (*function)(int), int value)
{
    return function ? function(value) : 0;
}

unsigned exercise(void)
{
    static const int values[] = {4, 8, 15, 16, 23, 42};
    unsigned total = 0;

    for (int i = -3; i < 8; i++) {
        total += (unsigned)sign(i);
        total += (unsigned)within(i, 0, 5);
        total += (unsigned)name_of(i)[0];
        total += (unsigned)crowded(i, 2);
    }
    total += sum_of_odd(40) + sum_of_odd(100);
    total += countdown(27);
    total += grid(7, 5);
    total += (unsigned)search(values, 6, 16);
    total += (unsigned)search(values, 6, 42);
    total += factorial(9);
    total += (unsigned)clamp(3, 10) + (unsigned)clamp(30, 10);
    total += (unsigned)call(sign, 5);
    if (total == 12345) {
        total += (unsigned)never(1);
    }
    return total;
}
