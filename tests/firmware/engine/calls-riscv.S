/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The assembler part of `calls` for RISC-V; see calls.h. */
#if __riscv_xlen == 64
#define LOAD ld
#define STORE sd
#define WORD 8
#define POINTER .dword
#else
#define LOAD lw
#define STORE sw
#define WORD 4
#define POINTER .word
#endif

    .macro count name
    la      t0, book_\name
    lw      t1, 0(t0)
    addi    t1, t1, 1
    sw      t1, 0(t0)
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
    la      t1, veneered
    jr      t1
    end veneer

    function asm_tail
    count   asm_tail
    j       tail_target
    end asm_tail

    function mid_function
    addi    a0, a0, 1
    beqz    a0, mid_inside
    addi    a0, a0, 2
    .global mid_inside
mid_inside:
    count   mid_function
    addi    a0, a0, 3
    ret
    end mid_function

    function shared_one
    addi    sp, sp, -16
    STORE   ra, 8(sp)
    count   shared_one
    call    called_back
    j       shared_end
    end shared_one

    function shared_two
    addi    sp, sp, -16
    STORE   ra, 8(sp)
    count   shared_two
    addi    a0, a0, 7
    j       shared_end
    end shared_two

    function shared_holder
    addi    sp, sp, -16
    STORE   ra, 8(sp)
    call    called_back
    addi    a0, a0, 1
    beqz    a0, shared_end
    addi    a0, a0, 1
shared_end:
    count   shared_holder
    LOAD    ra, 8(sp)
    addi    sp, sp, 16
    ret
    end shared_holder

/* No symbol is here but the pointer, which lies in another section. */
    .section .text.nameless, "ax"
    .balign 4
.Lnameless:
    addi    sp, sp, -16
    STORE   ra, 8(sp)
    STORE   s0, 0(sp)
    mv      s0, a0
    jal     .Linner
    add     a0, a0, s0
    call    called_back
    LOAD    s0, 0(sp)
    LOAD    ra, 8(sp)
    addi    sp, sp, 16
    ret
.Linner:
    addi    a0, a0, 1
    ret

    .section .rodata.nameless, "a"
    .balign WORD
    .global nameless
    .type   nameless, %object
nameless:
    POINTER .Lnameless
    .size   nameless, WORD
