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
