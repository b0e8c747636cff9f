/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions as people write them in assembler: some without .type, some without .size. */
    .syntax unified
    .thumb

    .section .text.assembler, "ax"
    .global assembler_plain
    .thumb_func
assembler_plain:
    adds    r0, #1
    eors    r0, r0, r0, lsr #5
    bx      lr

    .global assembler_sized
    .type assembler_sized, %function
assembler_sized:
    push    {r4, lr}
    movs    r4, #3
.Lagain:
    adds    r0, r0, r4
    subs    r4, #1
    bne     .Lagain
    pop     {r4, pc}
    .size assembler_sized, . - assembler_sized

    .global assembler_two_doors
    .thumb_func
assembler_two_doors:
    adds    r0, #2
    .global assembler_second_door
    .thumb_func
assembler_second_door:
    adds    r0, #3
    bx      lr

    .global assembler_literal
    .type assembler_literal, %function
assembler_literal:
    ldr     r1, .Lword
    b       .Lbehind
    .balign 4
.Lword:
    .word   0x12345678
.Lbehind:
    eors    r0, r1
    bx      lr
    .size assembler_literal, . - assembler_literal
