/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts, timer, output and exit of the q35 board. */
#include "x86.h"
#include "gx.h"

const char gx_board_name[] = GX_BOARD;

struct x86_gate {
    uint16_t offset_low, selector, type, offset_middle;
    uint32_t offset_high, reserved;
} x86_idt[256];

extern const char x86_entries[];

void x86_setup(void);
void x86_trap(struct x86_frame *frame);

void gx_write(const char *text)
{
    while (*text != '\0') {
        outb(0x3f8, (uint8_t)*text++); /* QEMU's serial port is always ready */
    }
}

void gx_exit(int status)
{
    if (status == 0) {
        outw(0x604, 0x2000); /* ACPI: PM1a_CNT, SLP_EN: QEMU ends with 0 */
    } else {
        outb(0xf4, (uint8_t)(status >> 1)); /* isa-debug-exit: QEMU ends with 2 * value + 1 */
    }
    for (;;) {
        __asm__ volatile("cli\n\thlt");
    }
}

__attribute__((weak)) void x86_page_fault(struct x86_frame *frame, uint64_t address)
{
    (void)frame;
    (void)address;
    gx_puts("unexpected page fault\n");
    gx_exit(3);
}

void x86_trap(struct x86_frame *frame)
{
    uint64_t address;

    switch (frame->vector) {
    case 14:
        __asm__ volatile("movq %%cr2, %0" : "=r"(address));
        gx_counters.faults++;
        x86_page_fault(frame, address);
        break;
    case VECTOR_TIMER:
        gx_timer_tick();
        outb(0x20, 0x20);
        break;
    case VECTOR_SOFTWARE:
        gx_counters.pendsv++;
        APIC_EOI = 0;
        break;
    case VECTOR_SERVICE:
        gx_counters.svcs++;
        break;
    default:
        gx_puts("unexpected trap\n");
        gx_exit(3);
    }
}

void x86_setup(void)
{
    for (int vector = 0; vector < 256; vector++) {
        uintptr_t entry = (uintptr_t)x86_entries + 16 * (uintptr_t)vector;

        x86_idt[vector].offset_low = (uint16_t)entry;
        x86_idt[vector].selector = 8;
        x86_idt[vector].type = 0x8e00; /* present, interrupt gate */
        x86_idt[vector].offset_middle = (uint16_t)(entry >> 16);
        x86_idt[vector].offset_high = (uint32_t)(entry >> 32);
    }
    APIC_SPURIOUS = 0x1ff;  /* enabled */
    APIC_LVT_LINT0 = 0x700; /* from the 8259 */

    /* Both 8259: vectors from 0x20 and 0x28 on, everything masked. */
    outb(0x20, 0x11);
    outb(0xa0, 0x11);
    outb(0x21, VECTOR_TIMER);
    outb(0xa1, VECTOR_TIMER + 8);
    outb(0x21, 4);
    outb(0xa1, 2);
    outb(0x21, 1);
    outb(0xa1, 1);
    outb(0x21, 0xff);
    outb(0xa1, 0xff);
}

void board_timer_start(uint32_t period_us)
{
    uint32_t divisor = period_us * 1193 / 1000; /* the 8254 counts at 1.193182 MHz */

    outb(0x43, 0x34); /* counter 0, both bytes, rate generator */
    outb(0x40, (uint8_t)divisor);
    outb(0x40, (uint8_t)(divisor >> 8));
    outb(0x21, 0xfe);
    __asm__ volatile("sti" ::: "memory");
}

void board_timer_stop(void)
{
    outb(0x21, 0xff);
}

void board_supervisor_call(void)
{
    __asm__ volatile("int $0x80" ::: "memory");
}

void board_software_interrupt(void)
{
    APIC_ICR_LOW = 1u << 18 | VECTOR_SOFTWARE; /* to this processor */
}

void board_wait(void)
{
    __asm__ volatile("hlt" ::: "memory");
}
