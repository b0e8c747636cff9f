/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the scheduler of `frames` needs of an architecture. */
#ifndef FRAMES_H
#define FRAMES_H

#include <stdint.h>

/* An interrupt's frame below `top`, as if a task had been stopped before its first instruction: its stack pointer. */
uintptr_t port_frame(uintptr_t *top, void (*entry)(void));
void port_start(void); /* to the scheduler's loop, on its own stack */
void port_leave(void); /* to the scheduler, by a call; comes back when it is this task's turn */
uintptr_t dispatch(void); /* called by the loop, interrupts off: the task's stack pointer; 0: none is ready */

#define PORT_INLINE static inline __attribute__((always_inline))

#if defined(__arm__)

#include "cortexm.h"

/* An interrupted task's way to the loop is an exception return: the loop is a context of its own. */
#define PORT_LOOP_IS_A_TASK 1

PORT_INLINE void port_request_switch(void) { SCB_ICSR = ICSR_PENDSVSET; }
/* A whole period from now on; nothing is pending. */
PORT_INLINE void port_timer_restart(void)
{
    SYST_CVR = 0;
    SCB_ICSR = 1u << 27 | 1u << 25;
}
PORT_INLINE void port_lock(void) { __asm__ volatile("cpsid i" ::: "memory"); }
PORT_INLINE void port_unlock(void) { __asm__ volatile("cpsie i" ::: "memory"); }

#else

#include "gx.h"

#define PORT_LOOP_IS_A_TASK 0

PORT_INLINE void port_request_switch(void) { }
PORT_INLINE void port_lock(void) { __asm__ volatile("csrci mstatus, 8" ::: "memory"); }
PORT_INLINE void port_unlock(void) { __asm__ volatile("csrsi mstatus, 8" ::: "memory"); }
PORT_INLINE void port_timer_restart(void)
{
    board_timer_start(PERIOD_US);
    port_lock();
}

#endif

#endif
