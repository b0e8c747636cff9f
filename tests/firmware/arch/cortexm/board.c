/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Timer, supervisor call and PendSV of the M-profile boards. */
#include "cortexm.h"
#include "gx.h"

const char gx_board_name[] = GX_BOARD;

#ifndef GX_OWN_HANDLERS

void SVC_Handler(void)
{
    gx_counters.svcs++;
}

void PendSV_Handler(void)
{
    gx_counters.pendsv++;
}

#endif

void board_supervisor_call(void)
{
    __asm__ volatile("svc #7" ::: "memory");
}

void board_software_interrupt(void)
{
    SCB_ICSR = ICSR_PENDSVSET;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

void board_wait(void)
{
    __asm__ volatile("wfi" ::: "memory");
}

#ifdef GX_NRF51

/* nRF51 reference manual, 19: a timer of 16 MHz >> PRESCALER; the core has no SysTick. */
#define TIMER0_START REG32(0x40008000u)
#define TIMER0_STOP REG32(0x40008004u)
#define TIMER0_CLEAR REG32(0x4000800cu)
#define TIMER0_COMPARE0 REG32(0x40008140u)
#define TIMER0_SHORTS REG32(0x40008200u)
#define TIMER0_INTENSET REG32(0x40008304u)
#define TIMER0_BITMODE REG32(0x40008508u)
#define TIMER0_PRESCALER REG32(0x40008510u)
#define TIMER0_CC0 REG32(0x40008540u)

void TIMER0_IRQHandler(void)
{
    TIMER0_COMPARE0 = 0;
    gx_timer_tick();
}

void board_timer_start(uint32_t period_us)
{
    TIMER0_STOP = 1;
    TIMER0_CLEAR = 1;
    TIMER0_BITMODE = 3;   /* 32 bits */
    TIMER0_PRESCALER = 4; /* 1 MHz */
    TIMER0_CC0 = period_us;
    TIMER0_SHORTS = 1; /* COMPARE0 clears the counter */
    TIMER0_INTENSET = 1u << 16;
    NVIC_ISER0 = 1u << 8;
    TIMER0_START = 1;
}

void board_timer_stop(void)
{
    TIMER0_STOP = 1;
    NVIC_ICER0 = 1u << 8;
}

#else

void SysTick_Handler(void)
{
    gx_timer_tick();
}

void board_timer_start(uint32_t period_us)
{
    SYST_RVR = period_us * (GX_CORE_HZ / 1000000u) - 1;
    SYST_CVR = 0;
    SYST_CSR = 7; /* core clock, interrupt, enable */
}

void board_timer_stop(void)
{
    SYST_CSR = 0;
}

#endif
