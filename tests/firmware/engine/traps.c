/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handlers inside handlers: a fast timer whose handler is interrupted and makes supervisor calls
 * itself, over code that calls all the time. On Cortex-M with four priorities and a second timer;
 * elsewhere the handler lets interrupts in while it works. Faults are skipped by their handler.
 */
#define BOOKS(X)                                                                                \
    X(main) X(round) X(leaf) X(chain) X(down) X(gx_timer_tick) X(tick_work) X(tick_leaf)        \
    X(SVC_Handler) X(PendSV_Handler) X(TIMER0_IRQHandler) X(high_leaf) X(skip_fault)
#include "books.h"
#include "traps.h"

#include "books.inc"

#define ROUNDS 60

static struct book_tree task = { .name = "task" };
static struct book_tree tick = { .name = "trap" };
static volatile uint32_t depth, max_depth;

BOOK_INLINE void depth_enter(void)
{
    depth++;
    if (depth > max_depth) {
        max_depth = depth;
    }
}

BOOK_INLINE void depth_leave(void)
{
    depth--;
}

/* A trap inside the handler that runs, whose own handler knows nothing of `depth`. */
BOOK_INLINE void depth_one_more(void)
{
#ifndef __arm__
    depth_enter();
    depth_leave();
#endif
}

KEPT static uint32_t tick_leaf(uint32_t value)
{
    ENTER(tick_leaf);
    return value * 7;
}

KEPT static uint32_t tick_work(uint32_t value)
{
    ENTER(tick_work);
    value += CALL(tick_leaf(value));
    if (gx_counters.interrupts % 4 == 0) {
        board_software_interrupt();
        depth_one_more();
    }
    if (gx_counters.interrupts % 8 == 1) {
        board_supervisor_call();
        depth_one_more();
    }
    return value + CALL(tick_leaf(value));
}

KEPT void gx_timer_tick(void)
{
    HANDLER_BEGIN(tick, gx_timer_tick);
    depth_enter();
    gx_counters.interrupts++;
    port_interrupts_in();
    gx_counters.states = CALL(tick_work(gx_counters.states));
    port_interrupts_out();
    depth_leave();
    HANDLER_END();
}

#ifdef __arm__

static struct book_tree svc = { .name = "trap" };
static struct book_tree pendsv = { .name = "trap" };
static struct book_tree high = { .name = "trap" };
static uint32_t high_runs;

KEPT static uint32_t high_leaf(uint32_t value)
{
    ENTER(high_leaf);
    return value + 1;
}

KEPT void SVC_Handler(void)
{
    HANDLER_BEGIN(svc, SVC_Handler);
    depth_enter();
    gx_counters.svcs++;
    depth_leave();
    HANDLER_END();
}

KEPT void PendSV_Handler(void)
{
    HANDLER_BEGIN(pendsv, PendSV_Handler);
    depth_enter();
    gx_counters.pendsv = CALL(high_leaf(gx_counters.pendsv));
    depth_leave();
    HANDLER_END();
}

KEPT void TIMER0_IRQHandler(void)
{
    HANDLER_BEGIN(high, TIMER0_IRQHandler);
    depth_enter();
    CMSDK_TIMER0_INTSTATUS = 1;
    high_runs = CALL(high_leaf(high_runs));
    depth_leave();
    HANDLER_END();
}

static struct book_tree *const trees[] = { &task, &tick, &svc, &pendsv, &high };
#else
static struct book_tree *const trees[] = { &task, &tick };
#endif

/* --- what is interrupted ---------------------------------------------------------------------- */

KEPT static uint32_t leaf(uint32_t value)
{
    ENTER(leaf);
    return value + 3;
}

KEPT_TAIL static uint32_t chain(uint32_t value)
{
    ENTER(chain);
    value += CALL(leaf(value));
    return value ^ 1;
}

KEPT static uint32_t down(uint32_t n, uint32_t value)
{
    ENTER(down);
    value = CALL(leaf(value)) + CALL(chain(value));
    return n == 0 ? value : CALL(down(n - 1, value)) + CALL(leaf(n));
}

KEPT static uint32_t round(uint32_t n, uint32_t value)
{
    ENTER(round);
    value += CALL(down(n % 10, value));
    board_supervisor_call();
    value += CALL(chain(value));
    port_fault();
    value += CALL(leaf(value));
    if (n % 3 == 0) {
        board_software_interrupt();
    }
    gx_counters.iterations++;
    return value;
}

int main(void)
{
    uint32_t value = 1;

    gx_counters.magic = GX_MAGIC;
    book_now = &task;
    ENTER(main);
    board_timer_start(PERIOD_US);
    port_setup();
    for (uint32_t n = 0; n < ROUNDS; n++) {
        value = CALL(round(n, value));
    }
    board_timer_stop();
    port_stop();
    gx_counters.checksum = value;
    gx_report("traps");
    gx_put_counter("max_nesting", max_depth);
#ifdef __arm__
    gx_put_counter("high", high_runs);
#endif
    books_print(trees, sizeof(trees) / sizeof(*trees));
    return 0;
}
