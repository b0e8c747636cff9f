/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Vector table and reset of all M-profile boards. */
#include "cortexm.h"
#include "gx.h"

extern uint32_t __stack_top, __data_load, __data_start, __data_end, __bss_start, __bss_end;

void Reset_Handler(void) __attribute__((noreturn));

void Default_Handler(void)
{
    gx_puts("unexpected exception\n");
    gx_exit(3);
}

#define WEAK __attribute__((weak, alias("Default_Handler")))
WEAK void NMI_Handler(void);
WEAK void HardFault_Handler(void);
WEAK void MemManage_Handler(void);
WEAK void BusFault_Handler(void);
WEAK void UsageFault_Handler(void);
WEAK void SVC_Handler(void);
WEAK void DebugMon_Handler(void);
WEAK void PendSV_Handler(void);
WEAK void SysTick_Handler(void);
WEAK void TIMER0_IRQHandler(void);

typedef void handler(void);

/* Interrupt 8 is TIMER0 on the nRF51; the MPS2 boards do not use it here. */
__attribute__((section(".vectors"), used)) handler *const __vectors[16 + 32] = {
    (handler *)&__stack_top,
    Reset_Handler,
    NMI_Handler,
    HardFault_Handler,
    MemManage_Handler,
    BusFault_Handler,
    UsageFault_Handler,
    0,
    0,
    0,
    0,
    SVC_Handler,
    DebugMon_Handler,
    0,
    PendSV_Handler,
    SysTick_Handler,
    [16 ... 23] = Default_Handler,
    TIMER0_IRQHandler,
    [25 ... 47] = Default_Handler,
};

void Reset_Handler(void)
{
    uint32_t *from = &__data_load;

    for (uint32_t *to = &__data_start; to < &__data_end; to++) {
        *to = *from++;
    }
    for (uint32_t *to = &__bss_start; to < &__bss_end; to++) {
        *to = 0;
    }
    gx_exit(main());
}
