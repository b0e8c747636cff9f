/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts, timer, output and exit of the vexpress-a9 board. */
#include "arm.h"
#include "gx.h"

const char gx_board_name[] = GX_BOARD;

uint32_t arm_semihosting(uint32_t operation, uint32_t argument);
void arm_supervisor_call(void);
void arm_interrupt(void);

void gx_write(const char *text)
{
    arm_semihosting(0x04, (uintptr_t)text);
}

void gx_exit(int status)
{
    const uint32_t block[2] = { 0x20026, (uint32_t)status };

    for (;;) {
        arm_semihosting(0x20, (uintptr_t)block);
    }
}

__attribute__((weak)) void arm_data_abort(struct arm_frame *frame)
{
    (void)frame;
    gx_puts("unexpected data abort\n");
    gx_exit(3);
}

void arm_supervisor_call(void)
{
    gx_counters.svcs++;
}

void arm_interrupt(void)
{
    uint32_t acknowledged = GICC_IAR;

    switch (acknowledged & 0x3ff) {
    case IRQ_SOFTWARE:
        gx_counters.pendsv++;
        break;
    case IRQ_PRIVATE_TIMER:
        TIMER_STATUS = 1;
        gx_timer_tick();
        break;
    default:
        return; /* spurious */
    }
    GICC_EOIR = acknowledged;
}

void board_timer_start(uint32_t period_us)
{
    GICD_CTLR = 1;
    GICD_ISENABLER0 = 1u << IRQ_PRIVATE_TIMER | 1u << IRQ_SOFTWARE;
    GICC_PMR = 0xff;
    GICC_CTLR = 1;
    TIMER_LOAD = period_us * 100 - 1; /* QEMU counts in steps of 10 ns */
    TIMER_CONTROL = 7;                /* interrupt, reload, enable */
    __asm__ volatile("cpsie i" ::: "memory");
}

void board_timer_stop(void)
{
    TIMER_CONTROL = 0;
}

void board_supervisor_call(void)
{
    __asm__ volatile("svc #7" ::: "lr", "memory"); /* from Supervisor mode: lr is overwritten */
}

void board_software_interrupt(void)
{
    GICD_SGIR = 2u << 24 | IRQ_SOFTWARE; /* to this core */
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

void board_wait(void)
{
    __asm__ volatile("wfi" ::: "memory");
}
