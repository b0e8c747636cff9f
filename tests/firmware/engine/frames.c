/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A scheduler as ThreadX has it: tasks give up the processor by a call, or a timer takes it; both go to one loop, which goes
 * to the next task by a return or a trap return, as its frame says, and waits while none is ready. With -DSHARED all tasks
 * wait in one function and work in another.
 */
#define BOOKS(X)                                                                                \
    X(main) X(task_a) X(task_b) X(task_c) X(work_a) X(even_b) X(odd_b) X(deep_c)                \
    X(rest_a) X(rest_b) X(rest_c) X(rest) X(spin_a) X(spin_b) X(spin_c) X(spin)                 \
    X(gx_timer_tick) X(tick_helper)
#include "books.h"
#include "frames.h"

#include "books.inc"

#define ROUNDS 60
#define STACK_WORDS 512

enum { TASK_A, TASK_B, TASK_C, N_TASKS };

struct task {
    uintptr_t sp; /* first: the port writes it */
    struct book_tree *tree;
    uint32_t switches;
    uint32_t sleeps;
    uint32_t finished;
};

static struct book_tree main_tree = { .name = "task" };
static struct book_tree trees[N_TASKS] = { { .name = "task" }, { .name = "task" }, { .name = "task" } };
static struct book_tree ticks = { .name = "trap" };
static struct task tasks[N_TASKS];
static uintptr_t stacks[N_TASKS][STACK_WORDS] __attribute__((aligned(16)));
static struct task *last_ran;
static uint32_t turn;
static uint32_t finished;
static uint32_t lot = 1;
static uint32_t dispatches, preemptions, idle_ticks;

struct task *volatile frames_current; /* NULL: the loop runs */
volatile uint32_t frames_preempt;

static void report(void);

/* `optimize`: no call of it is a task's, so there is nothing to compare. */
__attribute__((optimize("O2"))) uintptr_t dispatch(void)
{
    if (frames_preempt && PORT_LOOP_IS_A_TASK) {
        last_ran = 0;
    }
    frames_preempt = 0;
    for (uint32_t i = 1; i <= N_TASKS; i++) {
        struct task *t = &tasks[(turn + i) % N_TASKS];

        if (!t->sleeps && !t->finished) {
            turn = (uint32_t)(t - tasks);
            dispatches++;
            t->switches += t != last_ran;
            last_ran = t;
            book_now = t->tree;
            frames_current = t;
            port_timer_restart();
            return t->sp;
        }
    }
    if (finished == N_TASKS) {
        report();
    }
    return 0;
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
    for (uint32_t i = 0; i < N_TASKS; i++) {
        tasks[i].sleeps -= tasks[i].sleeps != 0;
    }
    if (frames_current) {
        frames_preempt = 1;
        preemptions++;
        port_request_switch();
    } else {
        idle_ticks++;
    }
    HANDLER_END();
}

BOOK_INLINE void wait_a_while(uint32_t ticks_to_sleep)
{
    port_lock();
    frames_current->sleeps = ticks_to_sleep;
    port_leave();
}

#define REST(rest_name)                                         \
    KEPT static uint32_t rest_name(uint32_t value)              \
    {                                                           \
        ENTER(rest_name);                                       \
        lot = lot * 1664525u + 1013904223u;                     \
        RUN(wait_a_while(lot >> 16 & 7 ? lot >> 20 & 1 : 2));   \
        return value + 1;                                       \
    }

/* Sometimes longer than the timer lets it. */
#define SPIN(spin_name)                                         \
    KEPT static uint32_t spin_name(uint32_t value)              \
    {                                                           \
        ENTER(spin_name);                                       \
        for (uint32_t i = 0; i < (value % 4 == 3 ? 700 : 20); i++) { \
            __asm__ volatile("" : "+r"(value));                 \
        }                                                       \
        return value;                                           \
    }

#ifdef SHARED
REST(rest)
SPIN(spin)
#define PAUSE(letter, value) CALL(rest(value))
#define WORK(letter, value) CALL(spin(value))
#else
REST(rest_a)
REST(rest_b)
REST(rest_c)
SPIN(spin_a)
SPIN(spin_b)
SPIN(spin_c)
#define PAUSE(letter, value) CALL(rest_##letter(value))
#define WORK(letter, value) CALL(spin_##letter(value))
#endif

KEPT static uint32_t work_a(uint32_t value)
{
    ENTER(work_a);
    value = WORK(a, value);
    value = PAUSE(a, value);
    return WORK(a, value);
}

static uint32_t odd_b(uint32_t n, uint32_t value);

KEPT static uint32_t even_b(uint32_t n, uint32_t value)
{
    ENTER(even_b);
    if (n == 0) {
        return PAUSE(b, value) + WORK(b, value);
    }
    return CALL(odd_b(n - 1, value)) + 1;
}

KEPT static uint32_t odd_b(uint32_t n, uint32_t value)
{
    ENTER(odd_b);
    if (n == 0) {
        return WORK(b, value) + PAUSE(b, value);
    }
    return CALL(even_b(n - 1, value)) + 2;
}

KEPT static uint32_t deep_c(uint32_t n, uint32_t value)
{
    ENTER(deep_c);
    if (n == 0) {
        return PAUSE(c, value) + WORK(c, value);
    }
    return CALL(deep_c(n - 1, value)) + 3;
}

static void report(void)
{
    static struct book_tree *const all[] = { &main_tree, &trees[0], &trees[1], &trees[2], &ticks };

    board_timer_stop();
    gx_report("frames");
    gx_put_counter("switches:task_a", tasks[TASK_A].switches);
    gx_put_counter("switches:task_b", tasks[TASK_B].switches);
    gx_put_counter("switches:task_c", tasks[TASK_C].switches);
    gx_put_counter("dispatches", dispatches);
    gx_put_counter("preemptions", preemptions);
    gx_put_counter("idle_ticks", idle_ticks);
    books_print(all, 5);
    gx_exit(0);
}

#define TASK(task_name, number, work)                           \
    KEPT static void task_name(void)                            \
    {                                                           \
        ENTER(task_name);                                       \
        for (uint32_t n = 0; n < ROUNDS; n++) {                 \
            gx_counters.checksum += CALL(work);                 \
        }                                                       \
        port_lock();                                            \
        tasks[number].finished = 1;                             \
        finished++;                                             \
        port_leave();                                           \
    }
TASK(task_a, TASK_A, work_a(n))
TASK(task_b, TASK_B, even_b(n % 7, n))
TASK(task_c, TASK_C, deep_c(n % 5, n))

int main(void)
{
    static void (*const entries[])(void) = { task_a, task_b, task_c };

    gx_counters.magic = GX_MAGIC;
    book_now = &main_tree;
    ENTER(main);
    for (uint32_t i = 0; i < N_TASKS; i++) {
        tasks[i].tree = &trees[i];
        tasks[i].sp = port_frame(stacks[i] + STACK_WORDS, entries[i]);
    }
    port_lock();
    board_timer_start(PERIOD_US);
    port_lock();
    port_start();
    return 1;
}
