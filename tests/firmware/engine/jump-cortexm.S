/* SPDX-License-Identifier: GPL-2.0-or-later */
/* setjmp and longjmp for Cortex-M3; see jump.h. */
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
    .size   \name, . - \name
    .endm

    function jump_set
    stmia   r0!, {r4-r11, lr}
    mov     r1, sp
    str     r1, [r0]
    movs    r0, #0
    bx      lr
    end jump_set

    function jump_long
    ldmia   r0!, {r4-r11, lr}
    ldr     r2, [r0]
    mov     sp, r2
    mov     r0, r1
    bx      lr
    end jump_long
