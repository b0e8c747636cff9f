/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A scheduler with preemption and three tasks: short calls, mutual recursion, deep recursion; each
 * blocks at its deepest. Every task has code of its own, so that where one is suspended tells which
 * it is. With -DSHARED they block in one function and work with another, as tasks do in real life.
 */
#define BOOKS(X)                                                                                \
    X(main) X(task_a) X(task_b) X(task_c) X(work_a) X(leaf_a) X(even_b) X(odd_b) X(deep_c)      \
    X(take_a) X(take_b) X(take_c) X(take) X(spin) X(gx_timer_tick) X(tick_helper)
#include "books.h"
#include "tasks.h"

#include "books.inc"

#ifndef ROUNDS
#define ROUNDS 40
#endif
#define N_TASKS 3
#define STACK_WORDS 1024

struct task {
    uintptr_t sp;
    struct book_tree *tree;
    uint32_t switches;
    uint32_t finished;
};

static struct book_tree main_tree = { .name = "task" };
static struct book_tree trees[N_TASKS] = { { .name = "task" }, { .name = "task" }, { .name = "task" } };
static struct book_tree ticks = { .name = "trap" };
static struct task tasks[N_TASKS];
static uintptr_t stacks[N_TASKS][STACK_WORDS] __attribute__((aligned(16)));
static uint32_t current = N_TASKS;  /* N_TASKS: main */
static uint32_t last_ran = N_TASKS; /* the task that executed an instruction last */
static uintptr_t resumed[PORT_FRAME_WORDS];
static volatile uint32_t want_switch;
static volatile uint32_t yielded; /* by the task that runs, since it was resumed */
static volatile uint32_t finished;
static volatile uint32_t semaphores[N_TASKS];

uint32_t scheduler_runs;

/*
 * A switch counts when the task has executed something: an interrupt that waits already may come
 * before its first instruction, and then its frame is still as it was left.
 */
BOOK_INLINE void has_run(uint32_t task)
{
    if (task != last_ran) {
        tasks[task].switches++;
        last_ran = task;
    }
}

BOOK_INLINE int same_frame(const uintptr_t *frame)
{
    for (uint32_t i = 0; i < PORT_FRAME_WORDS; i++) {
        if (frame[i] != resumed[i]) {
            return 0;
        }
    }
    return 1;
}

/* In the handler: the stack pointer to go on with. */
__attribute__((optimize("O2"))) uintptr_t schedule(uintptr_t sp)
{
    uint32_t next = 0;

    scheduler_runs++;
    if (current != N_TASKS && (yielded || !same_frame((const uintptr_t *)sp))) {
        has_run(current);
    }
    yielded = 0;
    if (want_switch) {
        want_switch = 0;
        if (current != N_TASKS) {
            tasks[current].sp = sp;
            next = current;
            do {
                next = (next + 1) % N_TASKS;
            } while (tasks[next].finished);
        }
        current = next;
        book_now = tasks[next].tree;
        sp = tasks[next].sp;
    }
    for (uint32_t i = 0; i < PORT_FRAME_WORDS; i++) {
        resumed[i] = ((const uintptr_t *)sp)[i];
    }
    return sp;
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
    want_switch = 1;
    port_request_switch();
    HANDLER_END();
}

BOOK_INLINE void yield(void)
{
    yielded = 1;
    want_switch = 1;
    port_yield();
}

BOOK_INLINE void wait_for(uint32_t semaphore)
{
    while (semaphores[semaphore] == 0) {
        yield();
    }
    semaphores[semaphore]--;
}

#ifdef SHARED

KEPT static uint32_t take(uint32_t semaphore)
{
    ENTER(take);
    wait_for(semaphore);
    return semaphore;
}

KEPT static uint32_t spin(uint32_t value)
{
    ENTER(spin);
    for (uint32_t i = 0; i < 150; i++) {
        value = value * 5 + i;
    }
    return value;
}

#define TAKE(letter, semaphore) CALL(take(semaphore))
#define SPIN(value) CALL(spin(value))

#else

#define TAKE_OWN(letter)                                        \
    KEPT static uint32_t take_##letter(uint32_t semaphore)      \
    {                                                           \
        ENTER(take_##letter);                                   \
        wait_for(semaphore);                                    \
        return semaphore;                                       \
    }
TAKE_OWN(a)
TAKE_OWN(b)
TAKE_OWN(c)

BOOK_INLINE uint32_t spin_here(uint32_t value)
{
    for (uint32_t i = 0; i < 150; i++) {
        value = value * 5 + i;
    }
    return value;
}

#define TAKE(letter, semaphore) CALL(take_##letter(semaphore))
#define SPIN(value) spin_here(value)

#endif

KEPT static uint32_t leaf_a(uint32_t value)
{
    ENTER(leaf_a);
    return SPIN(value);
}

KEPT static uint32_t work_a(uint32_t value)
{
    ENTER(work_a);
    value = CALL(leaf_a(value));
    value += TAKE(a, 0);
    return CALL(leaf_a(value));
}

static uint32_t odd_b(uint32_t n, uint32_t value);

KEPT static uint32_t even_b(uint32_t n, uint32_t value)
{
    ENTER(even_b);
    if (n == 0) {
        return TAKE(b, 1) + SPIN(value);
    }
    return CALL(odd_b(n - 1, value)) + 1;
}

KEPT static uint32_t odd_b(uint32_t n, uint32_t value)
{
    ENTER(odd_b);
    if (n == 0) {
        return TAKE(b, 1);
    }
    return CALL(even_b(n - 1, value)) + 2;
}

KEPT static uint32_t deep_c(uint32_t n, uint32_t value)
{
    ENTER(deep_c);
    if (n == 0) {
        return TAKE(c, 2) + SPIN(value);
    }
    return CALL(deep_c(n - 1, value + 1)) + 3;
}

static void report(void)
{
    static struct book_tree *const all[] = { &main_tree, &trees[0], &trees[1], &trees[2], &ticks };

    gx_report("tasks");
    gx_put_counter("switches:task_a", tasks[0].switches);
    gx_put_counter("switches:task_b", tasks[1].switches);
    gx_put_counter("switches:task_c", tasks[2].switches);
    gx_put_counter("scheduler_runs", scheduler_runs);
    books_print(all, 5);
    gx_exit(0);
}

/* The last one to finish reports. */
BOOK_INLINE void finish(uint32_t task)
{
    port_lock();
    tasks[task].finished = 1;
    if (++finished == N_TASKS) {
        board_timer_stop();
        has_run(task);
        report();
    }
    port_unlock();
    for (;;) {
        yield();
    }
}

KEPT static void task_a(void)
{
    ENTER(task_a);
    for (uint32_t n = 0; n < ROUNDS; n++) {
        gx_counters.checksum += CALL(work_a(n));
        semaphores[1]++;
    }
    finish(0);
}

KEPT static void task_b(void)
{
    ENTER(task_b);
    for (uint32_t n = 0; n < ROUNDS; n++) {
        gx_counters.checksum += CALL(even_b(n % 8, n));
        semaphores[2]++;
    }
    finish(1);
}

KEPT static void task_c(void)
{
    ENTER(task_c);
    for (uint32_t n = 0; n < ROUNDS; n++) {
        semaphores[0]++;
        gx_counters.checksum += CALL(deep_c(n % 13, n));
    }
    finish(2);
}

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
    port_start();
    board_timer_start(PERIOD_US);
    for (;;) {
        yield();
    }
}
