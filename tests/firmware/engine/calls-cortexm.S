/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The assembler part of `calls` for Cortex-M3; see calls.h. */
    .syntax unified
    .thumb

    .macro count name
    ldr     r3, =book_\name
    ldr     r2, [r3]
    adds    r2, r2, #1
    str     r2, [r3]
    .endm

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

    function veneer
    count   veneer
    ldr     r12, =veneered
    bx      r12
    end veneer

    function asm_tail
    count   asm_tail
    b       tail_target
    end asm_tail

    function mid_function
    adds    r0, r0, #1
    cmp     r0, #0
    beq     1f
    adds    r0, r0, #2
1:
    .global mid_inside              /* a plain label, no function of its own */
mid_inside:
    count   mid_function
    adds    r0, r0, #3
    bx      lr
    end mid_function

    function shared_one
    push    {r4, lr}
    count   shared_one
    bl      called_back
    b       shared_end
    end shared_one

    function shared_two
    push    {r4, lr}
    count   shared_two
    adds    r0, r0, #7
    b       shared_end
    end shared_two

    function shared_holder
    push    {r4, lr}
    bl      called_back
    adds    r0, r0, #1
    cbz     r0, shared_end
    adds    r0, r0, #1
shared_end:
    count   shared_holder
    pop     {r4, pc}
    end shared_holder

/* No symbol is here but the pointer, which lies in another section. */
    .section .text.nameless, "ax"
    .balign 4
.Lnameless:
    push    {r4, lr}
    mov     r4, r0
    bl      .Linner
    add     r0, r0, r4
    bl      called_back
    pop     {r4, pc}
.Linner:
    adds    r0, r0, #1
    bx      lr
    .balign 4

    .section .rodata.nameless, "a"
    .balign 4
    .global nameless
    .type   nameless, %object
nameless:
    .word   .Lnameless + 1
    .size   nameless, 4
