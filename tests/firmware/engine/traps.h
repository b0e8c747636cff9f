/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `traps` needs of an architecture. */
#ifndef TRAPS_H
#define TRAPS_H

#include "gx.h"

#define PORT_INLINE static inline __attribute__((always_inline))

void port_setup(void);
void port_stop(void);
void port_fault(void); /* a fault in the middle of a block, whose handler goes on after it */

#if defined(__arm__)

#include "cortexm.h"

#define CMSDK_TIMER0_CTRL REG32(0x40000000u)
#define CMSDK_TIMER0_VALUE REG32(0x40000004u)
#define CMSDK_TIMER0_RELOAD REG32(0x40000008u)
#define CMSDK_TIMER0_INTSTATUS REG32(0x4000000cu)

/* By priority alone. */
PORT_INLINE void port_interrupts_in(void) { }
PORT_INLINE void port_interrupts_out(void) { }

#elif defined(__riscv)

#include "riscv.h"

/* All but the timer's own; the trap's return needs mstatus as the trap had left it. */
PORT_INLINE void port_interrupts_in(void)
{
    CLEAR_CSR(mie, MIE_TIMER);
    SET_CSR(mstatus, 8);
}
PORT_INLINE void port_interrupts_out(void)
{
    CLEAR_CSR(mstatus, 8);
    SET_CSR(mstatus, 0x1880);
    SET_CSR(mie, MIE_TIMER);
}

#else

#include "aarch64.h"

PORT_INLINE void port_interrupts_in(void) { __asm__ volatile("msr daifclr, #2" ::: "memory"); }
PORT_INLINE void port_interrupts_out(void) { __asm__ volatile("msr daifset, #2" ::: "memory"); }

#endif

#endif
