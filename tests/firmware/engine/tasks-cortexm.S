/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PendSV switches process stacks, as most Cortex-M kernels do; the tasks run on PSP, main on MSP. */
    .syntax unified
    .thumb

    .macro function name
    .section .text.\name, "ax"
    .balign 4
    .global \name
    .type   \name, %function
    .thumb_func
\name:
    .endm

    .macro end name
    .ltorg
    .size   \name, . - \name
    .endm

    function PendSV_Handler
    mrs     r0, psp
    stmdb   r0!, {r4-r11}
    push    {r4, lr}
    bl      schedule
    pop     {r4, lr}
    ldmia   r0!, {r4-r11}
    msr     psp, r0
    orr     lr, lr, #4              /* thread mode, process stack */
    bx      lr
    end PendSV_Handler

/* r0 = port_frame(top, entry): r4-r11, then what the core loads: r0-r3, r12, lr, pc, xPSR. */
    function port_frame
    sub     r0, r0, #64
    bic     r1, r1, #1
    str     r1, [r0, #56]
    mov     r2, #0x01000000
    str     r2, [r0, #60]
    mvn     r2, #0
    str     r2, [r0, #52]
    bx      lr
    end port_frame

/* SysTick above PendSV; the first switch saves main's registers to where nobody needs them. */
    function port_start
    ldr     r0, =0xe000ed20
    ldr     r1, =0x80ff0000
    str     r1, [r0]
    ldr     r0, =first_stack_end
    msr     psp, r0
    bx      lr
    end port_start

    .bss
    .balign 8
    .space  64
first_stack_end:
