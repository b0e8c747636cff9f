/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exceptions as a C++ program throws them, by libgcc's unwinder: frames left one by one, each by its landing pad, which
 * cleans up and has the unwinding go on; functions without one in between; recursive ones; caught far above. The cleanups
 * run also where nothing is thrown. Under a fast timer. (In C, so that no C++ library is needed.)
 */
#define BOOKS(X)                                                                                \
    X(main) X(round) X(leaf) X(catcher) X(outer) X(plain) X(guarded) X(launch) X(release)       \
    X(gx_timer_tick) X(tick_helper)
#include <unwind.h>

#include "books.h"
#include "jump.h"

#include "books.inc"

#ifndef ROUNDS
#define ROUNDS 30
#endif

static volatile const uint32_t period_us = PERIOD_US;

static struct book_tree task = { .name = "task" };
static struct book_tree ticks = { .name = "trap" };

static struct _Unwind_Exception exception;
static struct jump_buffer caught;

struct guard {
    uint32_t place;
};

void abort(void)
{
    gx_puts("abort\n");
    gx_exit(6);
}

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

/* A destructor. */
KEPT static void release(struct guard *guard)
{
    book_now->at = guard->place;
    ENTER(release);
    gx_counters.checksum = CALL(leaf(gx_counters.checksum));
}

#define GUARD struct guard guard __attribute__((cleanup(release))) = { book_now->at }

static _Unwind_Reason_Code stop(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                struct _Unwind_Exception *thrown, struct _Unwind_Context *context, void *value)
{
    (void)version, (void)actions, (void)class, (void)thrown;
    if (_Unwind_GetCFA(context) >= caught.registers[9]) {
        jump_long(&caught, (uint32_t)(uintptr_t)value);
    }
    return _URC_NO_REASON;
}

KEPT static uint32_t launch(uint32_t value)
{
    ENTER(launch);
    if (value % 4 == 0) { /* nothing is thrown */
        return value;
    }
    _Unwind_ForcedUnwind(&exception, stop, (void *)(uintptr_t)(value | 1));
    return 0;
}

KEPT static uint32_t guarded(uint32_t depth, uint32_t value)
{
    ENTER(guarded);
    GUARD;
    return depth == 0 ? CALL(launch(value)) : CALL(guarded(depth - 1, value)) + CALL(leaf(depth));
}

KEPT static uint32_t plain(uint32_t depth, uint32_t value)
{
    ENTER(plain);
    return depth & 1 ? CALL(plain(depth - 1, value)) + 1 : CALL(guarded(depth, value)) + 2;
}

KEPT static uint32_t outer(uint32_t depth, uint32_t value)
{
    ENTER(outer);
    GUARD;
    value += CALL(leaf(value));
    return CALL(plain(depth, value)) + 3;
}

KEPT static uint32_t catcher(uint32_t depth, uint32_t value)
{
    uint32_t place, thrown;

    ENTER(catcher);
    place = book_now->at;
    thrown = jump_set(&caught);
    book_now->at = place;
    if (thrown == 0) {
        return CALL(outer(depth, value));
    }
    return CALL(leaf(thrown));
}

KEPT uint32_t round(uint32_t n, uint32_t value)
{
    ENTER(round);
    value += CALL(catcher(n % 6, value));
    value += CALL(guarded(n % 3, 4));
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
    gx_report("unwinds");
    books_print(trees, 2);
    return 0;
}
