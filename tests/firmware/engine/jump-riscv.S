/* SPDX-License-Identifier: GPL-2.0-or-later */
/* setjmp and longjmp for RISC-V; see jump.h. */
#if __riscv_xlen == 64
#define LOAD ld
#define STORE sd
#define WORD 8
#else
#define LOAD lw
#define STORE sw
#define WORD 4
#endif

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
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    STORE   s\n, \n * WORD(a0)
    .endr
    STORE   ra, 12 * WORD(a0)
    STORE   sp, 13 * WORD(a0)
    li      a0, 0
    ret
    end jump_set

    function jump_long
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    LOAD    s\n, \n * WORD(a0)
    .endr
    LOAD    ra, 12 * WORD(a0)
    LOAD    sp, 13 * WORD(a0)
    mv      a0, a1
    ret
    end jump_long
