/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks that give each other the processor by a routine that exchanges stack pointers (`swapcontext`), under a timer.
 * Who comes next is drawn by lot; main is one of them and starts the others. Every task pauses in code of its own;
 * with -DSHARED all of them pause in the same two functions, but each calls these from a place of its own.
 */
#define BOOKS(X)                                                                                \
    X(main) X(dispatch) X(task_a) X(task_b) X(task_c) X(work_a) X(deep_b) X(even_c) X(odd_c)    \
    X(pause_a) X(pause_b) X(pause_c) X(pause) X(yield_a) X(yield_b) X(yield_c) X(yield)         \
    X(leaf) X(gx_timer_tick) X(tick_helper)
#include "books.h"
#include "coop.h"

#include "books.inc"

#define ROUNDS 50
#define STACK_WORDS 512

enum { TASK_A, TASK_B, TASK_C, MAIN, N_TASKS };

static struct book_tree trees[N_TASKS] = {
    { .name = "task" }, { .name = "task" }, { .name = "task" }, { .name = "task" }
};
static struct book_tree ticks = { .name = "trap" };
static uintptr_t stacks[MAIN][STACK_WORDS] __attribute__((aligned(16)));
static uintptr_t pointers[N_TASKS];
static uint32_t switches[N_TASKS];
static uint32_t current = MAIN;
static uint32_t finished; /* a bit for each task */
static uint32_t lot = 1;

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

/* Another one than this, which has not finished: a task if there is one, and sometimes main. */
BOOK_INLINE uint32_t draw(uint32_t self)
{
    uint32_t next;

    lot = lot * 1664525u + 1013904223u;
    next = (lot >> 16) % (self == MAIN ? MAIN : N_TASKS);
    for (uint32_t i = 0; i < MAIN; i++, next = (next + 1) % N_TASKS) {
        if (next != self && (next == MAIN || !(finished & 1u << next))) {
            return next;
        }
    }
    return MAIN;
}

BOOK_INLINE void go_to(uint32_t next)
{
    const uint32_t self = current;

    current = next;
    switches[next]++;
    book_now = &trees[next];
    coop_switch(&pointers[self], pointers[next]);
}

#define PAUSE_AND_YIELD(pause_name, yield_name)                 \
    KEPT static void yield_name(void)                           \
    {                                                           \
        ENTER(yield_name);                                      \
        RUN(go_to(draw(current)));                              \
    }                                                           \
    KEPT static uint32_t pause_name(uint32_t value)             \
    {                                                           \
        ENTER(pause_name);                                      \
        RUN(yield_name());                                      \
        return value + 1;                                       \
    }

#ifdef SHARED
PAUSE_AND_YIELD(pause, yield)
#define PAUSE(letter, value) CALL(pause(value))
#else
PAUSE_AND_YIELD(pause_a, yield_a)
PAUSE_AND_YIELD(pause_b, yield_b)
PAUSE_AND_YIELD(pause_c, yield_c)
#define PAUSE(letter, value) CALL(pause_##letter(value))
#endif

KEPT static uint32_t leaf(uint32_t value)
{
    ENTER(leaf);
    return value * 3 + 1;
}

KEPT static uint32_t work_a(uint32_t value)
{
    ENTER(work_a);
    value = CALL(leaf(value));
    value = PAUSE(a, value);
    return CALL(leaf(value));
}

KEPT static uint32_t deep_b(uint32_t n, uint32_t value)
{
    ENTER(deep_b);
    if (n == 0) {
        value = PAUSE(b, value);
        return CALL(leaf(value));
    }
    return CALL(deep_b(n - 1, value)) + 3;
}

static uint32_t odd_c(uint32_t n, uint32_t value);

KEPT static uint32_t even_c(uint32_t n, uint32_t value)
{
    ENTER(even_c);
    if (n == 0) {
        return PAUSE(c, value);
    }
    return CALL(odd_c(n - 1, value)) + 1;
}

KEPT static uint32_t odd_c(uint32_t n, uint32_t value)
{
    ENTER(odd_c);
    if (n == 0) {
        return PAUSE(c, value) + 5;
    }
    return CALL(even_c(n - 1, value)) + 2;
}

#define TASK(task_name, number, work)                           \
    KEPT static void task_name(void)                            \
    {                                                           \
        ENTER(task_name);                                       \
        for (uint32_t n = 0; n < ROUNDS; n++) {                 \
            gx_counters.checksum += CALL(work);                 \
        }                                                       \
        finished |= 1u << number;                               \
        for (;;) {                                              \
            go_to(MAIN);                                        \
        }                                                       \
    }
TASK(task_a, TASK_A, work_a(n))
TASK(task_b, TASK_B, deep_b(n % 9, n))
TASK(task_c, TASK_C, even_c(n % 6, n))

KEPT static void dispatch(void)
{
    ENTER(dispatch);
    RUN(go_to(draw(MAIN)));
    gx_counters.iterations++;
}

int main(void)
{
    static struct book_tree *const all[] = { &trees[MAIN], &trees[0], &trees[1], &trees[2], &ticks };
    static void (*const entries[])(void) = { task_a, task_b, task_c };
    uint32_t total = 0;

    gx_counters.magic = GX_MAGIC;
    book_now = &trees[MAIN];
    ENTER(main);
    for (uint32_t i = 0; i < MAIN; i++) {
        pointers[i] = coop_frame(stacks[i] + STACK_WORDS, entries[i]);
    }
    board_timer_start(PERIOD_US);
    while (finished != (1u << MAIN) - 1) {
        RUN(dispatch());
    }
    board_timer_stop();
    gx_report("coop");
    for (uint32_t i = 0; i < N_TASKS; i++) {
        total += switches[i];
    }
    gx_put_counter("switches:task_a", switches[TASK_A]);
    gx_put_counter("switches:task_b", switches[TASK_B]);
    gx_put_counter("switches:task_c", switches[TASK_C]);
    gx_put_counter("all_switches", total);
    books_print(all, 5);
    return 0;
}
