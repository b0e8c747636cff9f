/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bit of everything a call graph must get right: recursion, calls through a table, tail calls,
 * loops, a state machine, supervisor calls, software interrupts and a timer interrupt.
 *
 * The number of iterations is fixed, so that two runs under -icount are the same. With
 * -DGX_WAIT each round also sleeps until the next timer interrupt (program `wait`).
 */
#include "gx.h"

#ifndef ITER
#define ITER 60
#endif
#define TIMER_PERIOD_US 100

/* On an A-profile core some functions are T32, the others A32. */
#if defined(__arm__) && __ARM_ARCH_PROFILE == 'A'
#define OTHER_SET __attribute__((target("thumb")))
#else
#define OTHER_SET
#endif

void gx_timer_tick(void)
{
    gx_counters.interrupts++;
}

/* Recursion. */

GX_NOINLINE static uint32_t fibonacci(uint32_t n)
{
    gx_counters.recursive++;
    if (n < 2) {
        return n;
    }
    return fibonacci(n - 1) + fibonacci(n - 2);
}

/* A table of functions. */

typedef uint32_t operation(uint32_t left, uint32_t right);

static uint32_t operation_add(uint32_t left, uint32_t right)
{
    return left + right;
}

OTHER_SET static uint32_t operation_subtract(uint32_t left, uint32_t right)
{
    return left - right;
}

static uint32_t operation_xor(uint32_t left, uint32_t right)
{
    return left ^ right;
}

static uint32_t operation_rotate(uint32_t left, uint32_t right)
{
    right &= 31;
    return right == 0 ? left : (left << right) | (left >> (32 - right));
}

static operation *const volatile operations[] = {
    operation_add,
    operation_subtract,
    operation_xor,
    operation_rotate,
};

GX_NOINLINE static uint32_t run_operations(uint32_t value, uint32_t round)
{
    for (uint32_t i = 0; i < 8; i++) {
        value = operations[(i + round) % 4](value, i * 0x9e3779b9u + 7);
        gx_counters.indirect++;
    }
    return value;
}

/* Tail calls, also in a build without optimisation. */

#define TAIL __attribute__((noinline, noclone, optimize("O2")))

static uint32_t tail_odd(uint32_t depth, uint32_t value);

TAIL static uint32_t tail_even(uint32_t depth, uint32_t value)
{
    gx_counters.tail++;
    return depth == 0 ? value : tail_odd(depth - 1, value + 3);
}

TAIL static uint32_t tail_odd(uint32_t depth, uint32_t value)
{
    gx_counters.tail++;
    return depth == 0 ? value : tail_even(depth - 1, value * 5);
}

/* A state machine over a text. */

enum state { START, NUMBER, WORD, SPACE, SIGN, END };

OTHER_SET GX_NOINLINE static uint32_t scan(const char *text)
{
    enum state state = START;
    uint32_t tokens = 0;
    uint32_t value = 0;

    while (state != END) {
        char c = *text;

        gx_counters.states++;
        switch (state) {
        case START:
        case SPACE:
            if (c == '\0') {
                state = END;
            } else if (c >= '0' && c <= '9') {
                state = NUMBER;
                tokens++;
            } else if (c == '-' || c == '+') {
                state = SIGN;
            } else if (c != ' ') {
                state = WORD;
                tokens++;
            }
            break;
        case SIGN:
            state = (c >= '0' && c <= '9') ? NUMBER : WORD;
            tokens++;
            continue;
        case NUMBER:
            if (c < '0' || c > '9') {
                state = SPACE;
                continue;
            }
            value = value * 10 + (uint32_t)(c - '0');
            break;
        case WORD:
            if (c == ' ' || c == '\0') {
                state = SPACE;
                continue;
            }
            value ^= (uint32_t)c;
            break;
        case END:
            break;
        }
        text++;
    }
    return value + tokens;
}

/* A plain nest of loops. */

GX_NOINLINE static uint32_t mix(uint32_t seed)
{
    static uint32_t table[16];

    for (int i = 0; i < 16; i++) {
        seed = seed * 1664525u + 1013904223u;
        table[i] = seed;
    }
    for (int i = 1; i < 16; i++) {
        for (int j = i; j > 0 && table[j - 1] > table[j]; j--) {
            uint32_t held = table[j];

            table[j] = table[j - 1];
            table[j - 1] = held;
        }
    }
    return table[7] ^ table[8];
}

GX_NOINLINE static void round_trip(uint32_t round)
{
    uint32_t value = gx_counters.checksum;

    value += fibonacci(7 + round % 3);
    value = run_operations(value, round);
    value ^= tail_even(round % 9, value);
    value += scan("set speed -120 and 7 lamps on");
    value ^= mix(value + round);
    board_supervisor_call();
    if (round % 4 == 0) {
        board_software_interrupt();
    }
    gx_counters.checksum = value;
    gx_counters.iterations++;
}

int main(void)
{
    gx_counters.magic = GX_MAGIC;
    board_timer_start(TIMER_PERIOD_US);
    for (uint32_t round = 0; round < ITER; round++) {
        round_trip(round);
#ifdef GX_WAIT
        uint32_t seen = gx_counters.interrupts;

        while (gx_counters.interrupts == seen) {
            board_wait();
        }
#endif
    }
    board_timer_stop();
#ifdef GX_WAIT
    gx_report("wait");
#else
    gx_report("basic");
#endif
    return 0;
}
