/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reset, exception vectors and semihosting of the vexpress-a9 board. QEMU enters in Supervisor
 * mode. Each exception returns in another of the ways that A32 has.
 */
    .syntax unified
    .arm

    .section .text.start, "ax"
    .global _start
    .type _start, %function
_start:
    cpsid   aif, #0x12          @ IRQ mode
    ldr     sp, =irq_stack_top
    cps     #0x17               @ Abort mode
    ldr     sp, =abort_stack_top
    cps     #0x13               @ Supervisor mode
    ldr     sp, =__stack_top
    ldr     r0, =vectors
    mcr     p15, 0, r0, c12, c0, 0      @ VBAR
    isb
    ldr     r1, =__bss_start
    ldr     r2, =__bss_end
    mov     r3, #0
1:  cmp     r1, r2
    strlo   r3, [r1], #4
    blo     1b
    bl      main
    bl      gx_exit
    .size _start, . - _start

/* r0 = arm_semihosting(operation, argument) */
    .section .text.semihosting, "ax"
    .global arm_semihosting
    .type arm_semihosting, %function
arm_semihosting:
    push    {r4, lr}            @ the call is an SVC from Supervisor mode: keep lr
    svc     #0x123456
    pop     {r4, pc}
    .size arm_semihosting, . - arm_semihosting

    .section .text.exceptions, "ax"
    .type supervisor_call, %function
supervisor_call:
    push    {r0-r3, r12, lr}
    bl      arm_supervisor_call
    pop     {r0-r3, r12, lr}
    movs    pc, lr
    .size supervisor_call, . - supervisor_call

    .type interrupt, %function
interrupt:
    sub     lr, lr, #4
    srsdb   sp!, #0x13          @ return state on the Supervisor stack
    cps     #0x13
    push    {r0-r3, r12, lr}
    and     r1, sp, #4
    sub     sp, sp, r1
    push    {r1, r2}
    bl      arm_interrupt
    pop     {r1, r2}
    add     sp, sp, r1
    pop     {r0-r3, r12, lr}
    rfeia   sp!
    .size interrupt, . - interrupt

/* The frame: r0 to r12, the faulting instruction (struct arm_frame). */
    .type data_abort, %function
data_abort:
    sub     lr, lr, #8
    push    {r0-r12, lr}
    mov     r0, sp
    bl      arm_data_abort
    ldm     sp!, {r0-r12, pc}^
    .size data_abort, . - data_abort

    .type unexpected, %function
unexpected:
    mov     r0, #3
    bl      gx_exit
    .size unexpected, . - unexpected

    .section .text.vectors, "ax"
    .balign 32
    .global vectors
vectors:
    b       _start
    b       unexpected
    b       supervisor_call
    b       unexpected
    b       data_abort
    b       unexpected
    b       interrupt
    b       unexpected

    .bss
    .balign 8
    .space  2048
irq_stack_top:
    .space  2048
abort_stack_top:
