/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * longjmp into recursive functions, under a fast timer: to an older activation than the newest, to handlers that pass on
 * what they caught, more than once to the same place, and with tail calls afterwards.
 */
#define BOOKS(X)                                                                                \
    X(main) X(round) X(leaf) X(tail_leaf)                                                       \
    X(seeker) X(fall) X(trier) X(raise) X(retrier) X(once_more) X(afterwards) X(tail_catcher) \
    X(hop) X(tail_fall)                                                                        \
    X(gx_timer_tick) X(tick_helper)
#include "books.h"
#include "jump.h"

#include "books.inc"

#ifndef ROUNDS
#define ROUNDS 40
#endif

static volatile const uint32_t period_us = PERIOD_US;

static struct book_tree task = { .name = "task" };
static struct book_tree ticks = { .name = "trap" };

static volatile uint32_t never; /* 0; for the compiler there is a way out */

KEPT static uint32_t tick_helper(uint32_t value)
{
    ENTER(tick_helper);
    return value + 1;
}

KEPT void gx_timer_tick(void)
{
    HANDLER_BEGIN(ticks, gx_timer_tick);
    gx_counters.interrupts = CALL(tick_helper(gx_counters.interrupts));
    HANDLER_END();
}

KEPT static uint32_t leaf(uint32_t value)
{
    ENTER(leaf);
    return value * 5 + 3;
}

KEPT_TAIL static uint32_t tail_leaf(uint32_t value)
{
    TAILED(tail_leaf);
    return value + CALL(leaf(value));
}

/* --- one activation of several has called setjmp --------------------------------------------- */

static struct jump_buffer seeker_buffer;

KEPT static uint32_t fall(uint32_t value)
{
    ENTER(fall);
    jump_long(&seeker_buffer, value | 1);
    return never;
}

KEPT static uint32_t seeker(uint32_t depth, uint32_t set_at, uint32_t value)
{
    uint32_t thrown = 0;

    ENTER(seeker);
    if (depth == set_at) {
        const uint32_t place = book_now->at;

        thrown = jump_set(&seeker_buffer);
        book_now->at = place;
    }
    if (thrown != 0) {
        return CALL(leaf(thrown));
    }
    if (depth == 0) {
        return CALL(fall(value));
    }
    return CALL(seeker(depth - 1, set_at, value + 1)) + CALL(leaf(depth));
}

/* --- each has; what one caught it may pass on to the one before ------------------------------------ */

struct handler {
    struct handler *outer;
    struct jump_buffer buffer;
};

static struct handler *handlers;

KEPT static uint32_t raise(uint32_t value)
{
    struct handler *newest = handlers;

    ENTER(raise);
    handlers = newest->outer;
    jump_long(&newest->buffer, value);
    return never;
}

/* `value` is the number of activations that are left on the way. */
KEPT static uint32_t trier(uint32_t depth, uint32_t value)
{
    struct handler here = { .outer = handlers };
    uint32_t thrown, place;

    ENTER(trier);
    place = book_now->at;
    handlers = &here;
    thrown = jump_set(&here.buffer);
    book_now->at = place;
    if (thrown == 0) {
        uint32_t result = depth == 0 ? CALL(raise(value)) : CALL(trier(depth - 1, value)) + CALL(leaf(depth));

        handlers = here.outer;
        return result;
    }
    if (thrown > 1 && here.outer != 0) {
        return CALL(raise(thrown - 1));
    }
    return CALL(leaf(thrown));
}

/* --- setjmp returns many times --------------------------------------------------------------------- */

static struct jump_buffer retrier_buffer;

KEPT static uint32_t once_more(uint32_t depth, uint32_t value)
{
    ENTER(once_more);
    if (depth == 0) {
        jump_long(&retrier_buffer, value + 1);
        if (never) {
            return 0;
        }
    }
    return CALL(once_more(depth - 1, value)) + never;
}

KEPT static uint32_t retrier(uint32_t times, uint32_t nested)
{
    uint32_t place, thrown;

    ENTER(retrier);
    if (nested != 0) { /* an older activation that did not call setjmp */
        return CALL(retrier(times, nested - 1)) + 1;
    }
    place = book_now->at;
    thrown = jump_set(&retrier_buffer);
    book_now->at = place;
    if (thrown < times) {
        return CALL(once_more(thrown % 3, thrown));
    }
    return CALL(leaf(thrown));
}

/* --- with tail calls before and afterwards ----------------------------------------------------------- */

KEPT_TAIL static uint32_t tail_fall(uint32_t value)
{
    TAILED(tail_fall);
    jump_long(&seeker_buffer, value | 1);
    return never;
}

KEPT_TAIL static uint32_t hop(uint32_t value)
{
    ENTER(hop);
    return tail_fall(value + 2);
}

KEPT static uint32_t tail_catcher(uint32_t value)
{
    uint32_t place, thrown;

    ENTER(tail_catcher);
    place = book_now->at;
    thrown = jump_set(&seeker_buffer);
    book_now->at = place;
    if (thrown == 0) {
        return CALL(hop(value)) + 1;
    }
    return CALL(leaf(thrown));
}

KEPT_TAIL static uint32_t afterwards(uint32_t value)
{
    ENTER(afterwards);
    value = CALL(tail_catcher(value));
    return tail_leaf(value);
}

KEPT uint32_t round(uint32_t n, uint32_t value)
{
    ENTER(round);
    value += CALL(seeker(n % 5, (n / 5) % (n % 5 + 1), value));
    value += CALL(trier(n % 4, n / 4 % (n % 4 + 1) + 1));
    value += CALL(retrier(n % 4, n % 3));
    value += CALL(afterwards(value));
    gx_counters.iterations++;
    return value;
}

int main(void)
{
    static struct book_tree *const trees[] = { &task, &ticks };
    uint32_t value = 1;

    gx_counters.magic = GX_MAGIC;
    book_now = &task;
    ENTER(main);
    board_timer_start(period_us);
    for (uint32_t n = 0; n < ROUNDS; n++) {
        value = CALL(round(n, value));
    }
    board_timer_stop();
    gx_counters.checksum = value;
    gx_report("jumps");
    books_print(trees, 2);
    return 0;
}
