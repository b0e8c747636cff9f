/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Priorities, the second timer and recovered faults of `traps`, Cortex-M. */
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

/* SVC 0x40, PendSV 0xff, SysTick 0x80, interrupt 8 (CMSDK timer 0) 0: every 797 cycles. */
    function port_setup
    ldr     r0, =0xe000ed1c
    ldr     r1, =0x40000000
    str     r1, [r0]
    ldr     r1, =0x80ff0000
    str     r1, [r0, #4]
    ldr     r0, =0x40000000
    ldr     r1, =797
    str     r1, [r0, #8]
    str     r1, [r0, #4]
    movs    r1, #9
    str     r1, [r0]
    ldr     r0, =0xe000e100
    mov     r1, #0x100
    str     r1, [r0]
    bx      lr
    end port_setup

    function port_stop
    ldr     r0, =0x40000000
    movs    r1, #0
    str     r1, [r0]
    bx      lr
    end port_stop

    function port_fault
    ldr     r0, =0x90000000
    movs    r1, #1
    ldr     r2, [r0]                /* nothing is there */
    adds    r1, r1, #1
    bx      lr
    end port_fault

/* Goes on after the load of two bytes. */
    function HardFault_Handler
    ldr     r0, =gx_counters + 20
    ldr     r1, [r0]
    adds    r1, r1, #1
    str     r1, [r0]
    ldr     r0, [sp, #24]
    adds    r0, r0, #2
    str     r0, [sp, #24]
    bx      lr
    end HardFault_Handler
