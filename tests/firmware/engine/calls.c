/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ways to call and to leave: the hard cases of a call tree, under a fast timer or without one
 * (-DPERIOD_US, which changes one word of data and no code). Its assembler is in calls-ARCH.S.
 */
#define BOOKS(X)                                                                                \
    X(main) X(round) X(leaf) X(middle) X(factorial) X(even) X(odd)                              \
    X(tail_first) X(tail_middle) X(tail_last) X(ping) X(pong) X(tail_target)                    \
    X(dispatch) X(operation_add) X(operation_twice) X(veneered) X(ram_function)                 \
    X(catcher) X(thrower) X(recursive_catcher) X(called_back) X(warm) X(cold_work)              \
    X(deep) X(bottom) X(gx_timer_tick) X(tick_helper)
#include "books.h"
#include "calls.h"

#include "books.inc"

#ifndef ROUNDS
#define ROUNDS 40
#endif

/* A word that the compiler must load: programs with and without interrupts have the same code. */
static volatile const uint32_t period_us = PERIOD_US;

static struct book_tree task = { .name = "task" };
static struct book_tree ticks = { .name = "trap" };

#define ASSEMBLER(X) X(mid_function) X(shared_one) X(shared_two) X(shared_holder) X(veneer) X(asm_tail)
#define BOOK_COUNTER(name) volatile uint32_t book_##name;
ASSEMBLER(BOOK_COUNTER)

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

#ifdef MOVED
/* As an application that a bootloader has started: from here on its own vector table holds, in RAM, with other handlers. */
#define VTOR (*(volatile uint32_t *)0xE000ED08u)

typedef void handler(void);
extern handler *const __vectors[48];

KEPT static void moved_tick(void)
{
    gx_timer_tick();
}

static void move_vectors(void)
{
    static handler *vectors[48] __attribute__((aligned(256)));

    for (uint32_t i = 0; i < 48; i++) {
        vectors[i] = __vectors[i];
    }
    vectors[15] = moved_tick;
    VTOR = (uint32_t)(uintptr_t)vectors;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}
#else
static void move_vectors(void) {}
#endif

/* --- calls, recursion ---------------------------------------------------------------------- */

KEPT static uint32_t leaf(uint32_t value)
{
    ENTER(leaf);
    return value * 3 + 1;
}

KEPT static uint32_t middle(uint32_t value)
{
    ENTER(middle);
    value += CALL(leaf(value));
    value ^= CALL(leaf(value + 1));
    return value;
}

KEPT static uint32_t factorial(uint32_t n)
{
    ENTER(factorial);
    return n < 2 ? 1 : n * CALL(factorial(n - 1));
}

static uint32_t odd(uint32_t n);

KEPT static uint32_t even(uint32_t n)
{
    ENTER(even);
    return n == 0 ? 1 : CALL(odd(n - 1)) ^ 2;
}

KEPT static uint32_t odd(uint32_t n)
{
    ENTER(odd);
    return n == 0 ? 0 : CALL(even(n - 1)) ^ 4;
}

/* --- tail calls ---------------------------------------------------------------------------- */

KEPT_TAIL static uint32_t tail_last(uint32_t value)
{
    TAILED(tail_last);
    return value + CALL(leaf(value));
}

KEPT_TAIL static uint32_t tail_middle(uint32_t value)
{
    TAILED(tail_middle);
    value += CALL(leaf(value));
    return tail_last(value);
}

KEPT_TAIL static uint32_t tail_first(uint32_t value)
{
    ENTER(tail_first);
    return value & 1 ? tail_middle(value) : tail_last(value);
}

static uint32_t pong(uint32_t n, uint32_t value);

/* Comes by a call once and by tail calls from then on. */
KEPT_TAIL static uint32_t ping(uint32_t n, uint32_t value, uint32_t first)
{
    book_enter(BOOK_ping, !first);
    return n == 0 ? value : pong(n - 1, value + 5);
}

KEPT_TAIL static uint32_t pong(uint32_t n, uint32_t value)
{
    TAILED(pong);
    return n == 0 ? value : ping(n - 1, value * 7, 0);
}

KEPT uint32_t tail_target(uint32_t value)
{
    ENTER(tail_target);
    return value + 11;
}

/* --- pointers, veneers ----------------------------------------------------------------------- */

KEPT static uint32_t operation_add(uint32_t value)
{
    ENTER(operation_add);
    return value + 9;
}

KEPT static uint32_t operation_twice(uint32_t value)
{
    ENTER(operation_twice);
    return CALL(leaf(value)) * 2;
}

static uint32_t (*const volatile operations[])(uint32_t) = { operation_add, operation_twice };

KEPT static uint32_t dispatch(uint32_t value)
{
    ENTER(dispatch);
    for (uint32_t i = 0; i < 3; i++) {
        value = CALL(operations[(value + i) & 1](value));
    }
    return value;
}

KEPT uint32_t veneered(uint32_t value)
{
    ENTER(veneered);
    return CALL(leaf(value)) + 4;
}

/* On Cortex-M it lies in RAM, too far for a direct call: the linker makes a veneer. */
#if defined(__arm__)
#define IN_RAM __attribute__((section(".ramcode")))
#else
#define IN_RAM
#endif

IN_RAM KEPT static uint32_t ram_function(uint32_t value)
{
    ENTER(ram_function);
    return value ^ 0x55;
}

/* --- longjmp over several frames ------------------------------------------------------------- */

static struct jump_buffer jump_buffer;
static volatile uint32_t never; /* 0; for the compiler there is a way out */

KEPT static uint32_t thrower(uint32_t depth, uint32_t value)
{
    ENTER(thrower);
    if (depth == 0) {
        jump_long(&jump_buffer, value | 1);
        if (never) {
            return 0;
        }
    }
    return CALL(thrower(depth - 1, value + 3)) + 1;
}

KEPT static uint32_t catcher(uint32_t value)
{
    ENTER(catcher);
    const uint32_t place = book_now->at;
    const uint32_t thrown = jump_set(&jump_buffer);

    book_now->at = place;
    if (thrown == 0) {
        value += CALL(thrower(value % 5, value));
        gx_puts("nothing was thrown\n");
        gx_exit(5);
    }
    return thrown + CALL(leaf(thrown));
}

/* The catcher is recursive too, but only its last activation can be meant. */
KEPT static uint32_t recursive_catcher(uint32_t depth, uint32_t value)
{
    ENTER(recursive_catcher);
    if (depth != 0) {
        return CALL(recursive_catcher(depth - 1, value)) + 1;
    }
    return CALL(catcher(value));
}

/* --- from assembler ---------------------------------------------------------------------------- */

KEPT uint32_t called_back(uint32_t value)
{
    ENTER(called_back);
    return CALL(leaf(value)) ^ 3;
}

/* --- a part that the compiler moves away --------------------------------------------------------- */

KEPT __attribute__((cold)) static uint32_t cold_work(uint32_t value)
{
    ENTER(cold_work);
    return value / 3;
}

KEPT static uint32_t warm(uint32_t value)
{
    ENTER(warm);
    for (uint32_t i = 0; i < 3; i++) {
        if (__builtin_expect(value % 4 == 1, 0)) {
            value += CALL(cold_work(value)) | 2;
        }
        value = CALL(leaf(value));
    }
    return value;
}

/* --- deep: where a test starts the recording ------------------------------------------------------ */

KEPT uint32_t bottom(uint32_t value)
{
    ENTER(bottom);
    return value + 1;
}

KEPT uint32_t deep(uint32_t depth, uint32_t value)
{
    ENTER(deep);
    if (depth == 0) {
        return CALL(bottom(value));
    }
    return CALL(deep(depth - 1, value)) + CALL(leaf(depth));
}

KEPT uint32_t round(uint32_t n, uint32_t value)
{
    ENTER(round);
    value += CALL(middle(value));
    value += CALL(factorial(n % 9));
    value += CALL(even(n % 7));
    value += CALL(tail_first(value));
    value += CALL(ping(n % 6, value, 1));
    value += CALL(dispatch(value));
    value += CALL(veneer(value));
    value += CALL(asm_tail(value));
    value += CALL(ram_function(value));
    value += CALL(catcher(value));
    value += CALL(recursive_catcher(n % 4, value));
    value += CALL(mid_function(value));
    value += CALL(mid_inside(value));
    value += CALL(shared_one(value));
    value += CALL(shared_two(value));
    value += CALL(shared_holder(value));
    value += CALL(nameless(value));
    value += CALL(warm(value));
    value += CALL(deep(n % 8, value));
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
    move_vectors();
    board_timer_start(period_us);
    for (uint32_t n = 0; n < ROUNDS; n++) {
        value = CALL(round(n, value));
    }
    board_timer_stop();
    gx_counters.checksum = value;
    gx_report("calls");
    books_print(trees, 2);
#define BOOK_PRINT(name) book_print_calls(#name, book_##name);
    ASSEMBLER(BOOK_PRINT)
    return 0;
}
