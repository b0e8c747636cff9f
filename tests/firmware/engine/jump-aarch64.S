/* SPDX-License-Identifier: GPL-2.0-or-later */
/* setjmp and longjmp for AArch64; see jump.h. */
    .macro function name
    .section .text.\name, "ax"
    .balign 4
    .global \name
    .type   \name, %function
\name:
    .endm

    .macro end name
    .size   \name, . - \name
    .endm

    function jump_set
    stp     x19, x20, [x0]
    stp     x21, x22, [x0, #16]
    stp     x23, x24, [x0, #32]
    stp     x25, x26, [x0, #48]
    stp     x27, x28, [x0, #64]
    stp     x29, x30, [x0, #80]
    mov     x9, sp
    str     x9, [x0, #96]
    mov     w0, #0
    ret
    end jump_set

    function jump_long
    ldp     x19, x20, [x0]
    ldp     x21, x22, [x0, #16]
    ldp     x23, x24, [x0, #32]
    ldp     x25, x26, [x0, #48]
    ldp     x27, x28, [x0, #64]
    ldp     x29, x30, [x0, #80]
    ldr     x9, [x0, #96]
    mov     sp, x9
    mov     w0, w1
    ret
    end jump_long
