/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks left in the middle on M-profile: PendSV, and bus faults that escalate to HardFault. */
#include "cortexm.h"
#include "gx.h"
#include "midblock.h"

/* No board has anything there. */
#define NOWHERE 0x90000000u

struct exception_frame {
    uint32_t r0, r1, r2, r3, r12, lr, pc, xpsr;
};

static const uint32_t somewhere[2] = { 0x1234567, 0x89abcde };

void midblock_hard_fault(struct exception_frame *frame);

void midblock_hard_fault(struct exception_frame *frame)
{
    gx_counters.faults++;
    switch (midblock_recovery) {
    case RECOVER_SKIP:
        frame->pc += (*(const uint16_t *)frame->pc >> 11) >= 0x1d ? 4 : 2;
        break;
    case RECOVER_RESTART:
        frame->r3 = (uint32_t)somewhere;
        break;
    case RECOVER_NOT:
        midblock_give_up();
    }
}

__attribute__((naked)) void HardFault_Handler(void)
{
    __asm__ volatile("mov r0, sp\n\t"
                     "ldr r1, =midblock_hard_fault\n\t"
                     "bx r1\n\t"
                     ".ltorg");
}

void midblock_setup(void)
{
}

GX_NOINLINE uint32_t midblock_interrupt(uint32_t seed)
{
    register uint32_t value __asm__("r0") = seed;
    register uint32_t pendsvset __asm__("r1") = ICSR_PENDSVSET;
    register uint32_t icsr __asm__("r3") = 0xe000ed04u;

    __asm__ volatile("adds r0, r0, #3\n\t"
                     "str r1, [r3]\n\t"
                     "adds r0, r0, #5\n\t"
                     "lsls r2, r0, #1\n\t"
                     "adds r0, r0, r2\n\t"
                     "str r1, [r3]\n\t"
                     "str r1, [r3]\n\t"
                     "adds r0, r0, #7\n\t"
#if __ARM_ARCH_ISA_THUMB == 2
                     "lsrs r2, r0, #1\n\t"
                     "ittee cs\n\t"
                     "strcs r1, [r3]\n\t"
                     "addcs r0, r0, #11\n\t"
                     "strcc r1, [r3]\n\t"
                     "addcc r0, r0, #13\n\t"
#endif
                     "adds r0, r0, #1"
                     : "+r"(value)
                     : "r"(pendsvset), "r"(icsr)
                     : "r2", "cc", "memory");
    return value;
}

GX_NOINLINE uint32_t midblock_device_read(uint32_t seed)
{
    register uint32_t value __asm__("r0") = seed;
    register uint32_t icsr __asm__("r3") = 0xe000ed04u;

    __asm__ volatile("adds r0, r0, #3\n\t"
                     "ldr r2, [r3]\n\t"
                     "adds r0, r0, #5\n\t"
                     "ldr r2, [r3]\n\t"
                     "ldr r2, [r3]\n\t"
                     "lsls r2, r0, #1\n\t"
                     "adds r0, r0, r2"
                     : "+r"(value)
                     : "r"(icsr)
                     : "r2", "cc", "memory");
    return value;
}

GX_NOINLINE uint32_t midblock_fault(uint32_t seed)
{
    register uint32_t value __asm__("r0") = seed;
    register uint32_t loaded __asm__("r2") = 77;
    register uint32_t from __asm__("r3") = NOWHERE;

    __asm__ volatile("adds r0, r0, #3\n\t"
                     "lsls r1, r0, #2\n\t"
                     "ldr r2, [r3]\n\t"
                     "adds r0, r0, r2\n\t"
                     "adds r0, r0, r1"
                     : "+r"(value), "+r"(loaded), "+r"(from)
                     :
                     : "r1", "cc", "memory");
    return value;
}

GX_NOINLINE uint32_t midblock_multiple(uint32_t seed)
{
    register uint32_t value __asm__("r0") = seed;
    register uint32_t first __asm__("r1") = 78;
    register uint32_t second __asm__("r2") = 79;
    register uint32_t from __asm__("r3") = NOWHERE;

    __asm__ volatile("adds r0, r0, #3\n\t"
                     "ldmia r3!, {r1, r2}\n\t"
                     "adds r0, r0, r1\n\t"
                     "adds r0, r0, r2"
                     : "+r"(value), "+r"(first), "+r"(second), "+r"(from)
                     :
                     : "cc", "memory");
    return value;
}
