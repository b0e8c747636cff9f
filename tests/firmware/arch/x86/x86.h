/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traps and devices of the q35 board. */
#ifndef X86_H
#define X86_H

#include <stdint.h>

struct x86_frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax;
    uint64_t vector, error;
    uint64_t rip, cs, rflags, rsp, ss;
};

/* A page fault; the program may define it. It changes rip or a register, or maps the page. */
void x86_page_fault(struct x86_frame *frame, uint64_t address);

/* The page directories: entry N maps the 2 MiB from N * 2 MiB on. */
extern uint64_t page_level2[2048];

#define REG32(address) (*(volatile uint32_t *)(uintptr_t)(address))

/* Local APIC. */
#define APIC_EOI REG32(0xfee000b0)
#define APIC_SPURIOUS REG32(0xfee000f0)
#define APIC_ICR_LOW REG32(0xfee00300)
#define APIC_LVT_LINT0 REG32(0xfee00350)

#define VECTOR_TIMER 0x20    /* IRQ 0 of the 8259 */
#define VECTOR_SOFTWARE 0x40 /* sent by the local APIC to itself */
#define VECTOR_SERVICE 0x80

static inline void outb(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port) : "memory");
}

static inline void outw(uint16_t port, uint16_t value)
{
    __asm__ volatile("outw %0, %1" ::"a"(value), "Nd"(port) : "memory");
}

#endif
