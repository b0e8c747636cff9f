/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts, timer, output and exit of the virt AArch64 board. */
#include "aarch64.h"
#include "gx.h"

const char gx_board_name[] = GX_BOARD;

uint64_t aarch64_semihosting(uint64_t operation, uint64_t argument);

static uint64_t timer_period;

void gx_write(const char *text)
{
    aarch64_semihosting(0x04, (uintptr_t)text);
}

void gx_exit(int status)
{
    const uint64_t block[2] = { 0x20026, (uint64_t)status };

    for (;;) {
        aarch64_semihosting(0x20, (uintptr_t)block);
    }
}

__attribute__((weak)) void aarch64_data_abort(struct aarch64_frame *frame, uint64_t address)
{
    (void)frame;
    (void)address;
    gx_puts("unexpected data abort\n");
    gx_exit(3);
}

void aarch64_synchronous(struct aarch64_frame *frame)
{
    uint64_t syndrome = READ_SYSTEM(esr_el1);

    switch (syndrome >> 26) {
    case 0x15:
        gx_counters.svcs++;
        break;
    case 0x25:
        gx_counters.faults++;
        aarch64_data_abort(frame, READ_SYSTEM(far_el1));
        break;
    default:
        gx_puts("unexpected exception\n");
        gx_exit(3);
    }
}

void aarch64_interrupt(struct aarch64_frame *frame)
{
    uint32_t acknowledged = GICC_IAR;

    (void)frame;
    switch (acknowledged & 0x3ff) {
    case IRQ_SOFTWARE:
        gx_counters.pendsv++;
        break;
    case IRQ_VIRTUAL_TIMER:
        WRITE_SYSTEM(cntv_cval_el0, READ_SYSTEM(cntv_cval_el0) + timer_period);
        gx_timer_tick();
        break;
    default:
        return; /* spurious */
    }
    GICC_EOIR = acknowledged;
}

static void interrupts_enable(void)
{
    GICD_CTLR = 1;
    GICD_ISENABLER0 = 1u << IRQ_VIRTUAL_TIMER | 1u << IRQ_SOFTWARE;
    GICC_PMR = 0xff;
    GICC_CTLR = 1;
    __asm__ volatile("msr daifclr, #2" ::: "memory");
}

void board_timer_start(uint32_t period_us)
{
    timer_period = READ_SYSTEM(cntfrq_el0) * period_us / 1000000;
    WRITE_SYSTEM(cntv_cval_el0, READ_SYSTEM(cntvct_el0) + timer_period);
    WRITE_SYSTEM(cntv_ctl_el0, 1);
    interrupts_enable();
}

void board_timer_stop(void)
{
    WRITE_SYSTEM(cntv_ctl_el0, 0);
}

void board_supervisor_call(void)
{
    __asm__ volatile("svc #7" ::: "memory");
}

void board_software_interrupt(void)
{
    GICD_SGIR = 2u << 24 | IRQ_SOFTWARE; /* to this core */
    __asm__ volatile("dsb sy\n\tisb" ::: "memory");
}

void board_wait(void)
{
    __asm__ volatile("wfi" ::: "memory");
}
