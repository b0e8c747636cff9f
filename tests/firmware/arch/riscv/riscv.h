/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traps and devices of the virt RISC-V boards. */
#ifndef RISCV_H
#define RISCV_H

#include <stdint.h>

struct riscv_frame {
    uintptr_t pc;    /* mepc, in the place of x0 */
    uintptr_t x[31]; /* x1 to x31; x2 (sp) is not saved */
};

/* A load or store fault; the program may define it. It changes pc or a register. */
void riscv_access_fault(struct riscv_frame *frame);

#define REG32(address) (*(volatile uint32_t *)(uintptr_t)(address))

/* Core Local Interruptor, hart 0; mtime counts at 10 MHz. */
#define CLINT_MSIP REG32(0x02000000)
#define CLINT_MTIMECMP_LOW REG32(0x02004000)
#define CLINT_MTIMECMP_HIGH REG32(0x02004004)
#define CLINT_MTIME_LOW REG32(0x0200bff8)
#define CLINT_MTIME_HIGH REG32(0x0200bffc)

#define MIE_SOFTWARE (1u << 3)
#define MIE_TIMER (1u << 7)

#define SET_CSR(name, bits) __asm__ volatile("csrs " #name ", %0" ::"r"((uintptr_t)(bits)) : "memory")
#define CLEAR_CSR(name, bits) __asm__ volatile("csrc " #name ", %0" ::"r"((uintptr_t)(bits)) : "memory")

#endif
