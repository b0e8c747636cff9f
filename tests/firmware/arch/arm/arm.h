/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exceptions and devices of the vexpress-a9 board. */
#ifndef ARM_H
#define ARM_H

#include <stdint.h>

struct arm_frame {
    uint32_t r[13];
    uint32_t pc; /* of the instruction that faulted */
};

/* A data abort; the program may define it. It changes pc or a register. */
void arm_data_abort(struct arm_frame *frame);

#define REG32(address) (*(volatile uint32_t *)(address))

/* Cortex-A9 MPCore: private timer and interrupt controller. */
#define TIMER_LOAD REG32(0x1e000600)
#define TIMER_CONTROL REG32(0x1e000608)
#define TIMER_STATUS REG32(0x1e00060c)
#define GICC_CTLR REG32(0x1e000100)
#define GICC_PMR REG32(0x1e000104)
#define GICC_IAR REG32(0x1e00010c)
#define GICC_EOIR REG32(0x1e000110)
#define GICD_CTLR REG32(0x1e001000)
#define GICD_ISENABLER0 REG32(0x1e001100)
#define GICD_SGIR REG32(0x1e001f00)

#define IRQ_SOFTWARE 1
#define IRQ_PRIVATE_TIMER 29

#endif
