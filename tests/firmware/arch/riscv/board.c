/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traps, timer, output and exit of the virt RISC-V boards. */
#include "riscv.h"
#include "gx.h"

const char gx_board_name[] = GX_BOARD;

uintptr_t riscv_semihosting(uintptr_t operation, uintptr_t argument);
void riscv_trap(struct riscv_frame *frame, uintptr_t cause);

static uint64_t timer_next;
static uint32_t timer_period;

void gx_write(const char *text)
{
    riscv_semihosting(0x04, (uintptr_t)text);
}

void gx_exit(int status)
{
    const uintptr_t block[2] = { 0x20026, (uintptr_t)status };

    for (;;) {
        riscv_semihosting(0x20, (uintptr_t)block);
    }
}

__attribute__((weak)) void riscv_access_fault(struct riscv_frame *frame)
{
    (void)frame;
    gx_puts("unexpected access fault\n");
    gx_exit(3);
}

static void timer_set(uint64_t time)
{
    CLINT_MTIMECMP_HIGH = 0xffffffffu; /* no interrupt between the two halves */
    CLINT_MTIMECMP_LOW = (uint32_t)time;
    CLINT_MTIMECMP_HIGH = (uint32_t)(time >> 32);
}

void riscv_trap(struct riscv_frame *frame, uintptr_t cause)
{
    if ((intptr_t)cause < 0) {
        switch (cause & 0xff) {
        case 3:
            CLINT_MSIP = 0;
            gx_counters.pendsv++;
            return;
        case 7:
            timer_next += timer_period;
            timer_set(timer_next);
            gx_timer_tick();
            return;
        }
    } else {
        switch (cause) {
        case 5: /* load access fault */
        case 7: /* store access fault */
            gx_counters.faults++;
            riscv_access_fault(frame);
            return;
        case 11: /* ecall from M-mode */
            gx_counters.svcs++;
            frame->pc += 4;
            return;
        }
    }
    gx_puts("unexpected trap\n");
    gx_exit(3);
}

void board_timer_start(uint32_t period_us)
{
    timer_period = period_us * 10;
    timer_next = ((uint64_t)CLINT_MTIME_HIGH << 32 | CLINT_MTIME_LOW) + timer_period;
    timer_set(timer_next);
    SET_CSR(mie, MIE_TIMER | MIE_SOFTWARE);
    SET_CSR(mstatus, 8);
}

void board_timer_stop(void)
{
    CLEAR_CSR(mie, MIE_TIMER);
}

void board_supervisor_call(void)
{
    __asm__ volatile("ecall" ::: "memory");
}

void board_software_interrupt(void)
{
    CLINT_MSIP = 1;
    __asm__ volatile("fence" ::: "memory");
}

void board_wait(void)
{
    __asm__ volatile("wfi" ::: "memory");
}
