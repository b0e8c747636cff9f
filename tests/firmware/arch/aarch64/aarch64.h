/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exceptions and devices of the virt AArch64 board. */
#ifndef AARCH64_H
#define AARCH64_H

#include <stdint.h>

struct aarch64_frame {
    uint64_t x[31];
    uint64_t elr;
    uint64_t spsr;
};

/* A data abort from EL1; the program may define it. It changes elr or a register. */
void aarch64_data_abort(struct aarch64_frame *frame, uint64_t address);

#define REG32(address) (*(volatile uint32_t *)(uintptr_t)(address))

/* Generic Interrupt Controller, version 2. */
#define GICD_CTLR REG32(0x08000000)
#define GICD_ISENABLER0 REG32(0x08000100)
#define GICD_SGIR REG32(0x08000f00)
#define GICC_CTLR REG32(0x08010000)
#define GICC_PMR REG32(0x08010004)
#define GICC_IAR REG32(0x0801000c)
#define GICC_EOIR REG32(0x08010010)

#define IRQ_SOFTWARE 1
#define IRQ_VIRTUAL_TIMER 27

#define READ_SYSTEM(name) ({ uint64_t v_; __asm__ volatile("mrs %0, " #name : "=r"(v_)); v_; })
#define WRITE_SYSTEM(name, value) __asm__ volatile("msr " #name ", %0\n\tisb" ::"r"((uint64_t)(value)) : "memory")

#endif
