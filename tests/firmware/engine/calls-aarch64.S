/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The assembler part of `calls` for AArch64; see calls.h. */

    .macro count name
    adrp    x9, book_\name
    add     x9, x9, :lo12:book_\name
    ldr     w10, [x9]
    add     w10, w10, #1
    str     w10, [x9]
    .endm

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

    function veneer
    count   veneer
    adrp    x16, veneered
    add     x16, x16, :lo12:veneered
    br      x16
    end veneer

    function asm_tail
    count   asm_tail
    b       tail_target
    end asm_tail

    function mid_function
    add     w0, w0, #1
    cbz     w0, mid_inside
    add     w0, w0, #2
    .global mid_inside
mid_inside:
    count   mid_function
    add     w0, w0, #3
    ret
    end mid_function

    function shared_one
    stp     x29, x30, [sp, #-16]!
    count   shared_one
    bl      called_back
    b       shared_end
    end shared_one

    function shared_two
    stp     x29, x30, [sp, #-16]!
    count   shared_two
    add     w0, w0, #7
    b       shared_end
    end shared_two

    function shared_holder
    stp     x29, x30, [sp, #-16]!
    bl      called_back
    add     w0, w0, #1
    cbz     w0, shared_end
    add     w0, w0, #1
shared_end:
    count   shared_holder
    ldp     x29, x30, [sp], #16
    ret
    end shared_holder

/* No symbol is here but the pointer, which lies in another section. */
    .section .text.nameless, "ax"
    .balign 4
.Lnameless:
    stp     x29, x30, [sp, #-32]!
    str     x19, [sp, #16]
    mov     w19, w0
    bl      .Linner
    add     w0, w0, w19
    bl      called_back
    ldr     x19, [sp, #16]
    ldp     x29, x30, [sp], #32
    ret
.Linner:
    add     w0, w0, #1
    ret

    .section .rodata.nameless, "a"
    .balign 8
    .global nameless
    .type   nameless, %object
nameless:
    .dword  .Lnameless
    .size   nameless, 8
