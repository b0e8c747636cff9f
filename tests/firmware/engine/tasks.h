/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the scheduler of `tasks` needs of an architecture. */
#ifndef TASKS_H
#define TASKS_H

#include <stdint.h>

/* A frame as the switch leaves it, below `top`: its stack pointer. */
uintptr_t port_frame(uintptr_t *top, void (*entry)(void));
void port_start(void); /* before the timer: priorities, vectors */
uintptr_t schedule(uintptr_t sp);

#define PORT_INLINE static inline __attribute__((always_inline))

#if defined(__arm__)

#include "cortexm.h"

#define PORT_FRAME_WORDS 16 /* r4-r11, r0-r3, r12, lr, pc, xPSR */

PORT_INLINE void port_request_switch(void) { SCB_ICSR = ICSR_PENDSVSET; }
PORT_INLINE void port_yield(void)
{
    SCB_ICSR = ICSR_PENDSVSET;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}
PORT_INLINE void port_lock(void) { __asm__ volatile("cpsid i" ::: "memory"); }
PORT_INLINE void port_unlock(void) { __asm__ volatile("cpsie i" ::: "memory"); }

#elif defined(__riscv)

#define PORT_FRAME_WORDS 32 /* mepc, x1-x31 (x2 is not kept) */

PORT_INLINE void port_request_switch(void) { }
PORT_INLINE void port_yield(void) { __asm__ volatile("ecall" ::: "memory"); }
PORT_INLINE void port_lock(void) { __asm__ volatile("csrci mstatus, 8" ::: "memory"); }
PORT_INLINE void port_unlock(void) { __asm__ volatile("csrsi mstatus, 8" ::: "memory"); }

#else

#define PORT_FRAME_WORDS 33 /* x0-x30, ELR, SPSR */

PORT_INLINE void port_request_switch(void) { }
PORT_INLINE void port_yield(void) { __asm__ volatile("svc #1" ::: "memory"); }
PORT_INLINE void port_lock(void) { __asm__ volatile("msr daifset, #2" ::: "memory"); }
PORT_INLINE void port_unlock(void) { __asm__ volatile("msr daifclr, #2" ::: "memory"); }

#endif

#endif
